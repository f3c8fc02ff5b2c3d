xseg replay --driver sim -- -x.trace
