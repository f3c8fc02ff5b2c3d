xseg metrics
