xseg replay --json=yes x.trace
