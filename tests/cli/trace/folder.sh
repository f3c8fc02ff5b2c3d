xseg replay --driver sim .
