xseg replay --driver gpu x.trace
