gzip -c "$DATA/small.trace" >small.gz
size=$(wc -c <small.gz)
{ head -c $((size - 8)) small.gz; printf "\0\0\0\0\0\0\0\0"; } >bad.gz
xseg replay --driver sim bad.gz
