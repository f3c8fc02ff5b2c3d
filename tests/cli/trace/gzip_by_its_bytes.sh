# The name does not say that it is compressed.
gzip -c "$DATA/small.trace" >small.trace
xseg replay --driver sim small.trace | grep -c "^small  "
