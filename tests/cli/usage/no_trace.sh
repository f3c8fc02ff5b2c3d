xseg replay --driver sim
