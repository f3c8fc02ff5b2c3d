xseg replay --pases 2 x.trace
