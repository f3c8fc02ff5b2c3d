xseg replay --driver sim --conf
