gzip -c "$DATA/small.trace" >small.gz
xseg replay --driver sim - <small.gz | grep -c "^stdin  "
