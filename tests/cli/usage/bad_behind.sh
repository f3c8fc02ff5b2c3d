xseg replay --driver sim --behind 0 x.trace; xseg replay --driver sim --behind 5 --verify x.trace
