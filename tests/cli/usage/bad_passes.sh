xseg replay --passes 0 x.trace
