xseg replay --driver sim "$DATA/small.trace"
