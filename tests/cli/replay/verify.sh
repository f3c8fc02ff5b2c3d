xseg replay --driver sim --verify "$DATA/small.trace"
