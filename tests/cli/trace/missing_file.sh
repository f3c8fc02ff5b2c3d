xseg replay --driver sim missing.trace
