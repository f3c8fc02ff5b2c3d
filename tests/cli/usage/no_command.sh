xseg
