xseg replay --limit 20MB x.trace
