xseg replay --color often x.trace
