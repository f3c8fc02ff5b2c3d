xseg diagnose "$DATA/small.trace"
