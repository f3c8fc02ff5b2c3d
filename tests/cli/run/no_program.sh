xseg run --report
