xseg replay --limit=0.0x x.trace
