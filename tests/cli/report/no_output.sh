xseg report "$DATA/small.trace"
