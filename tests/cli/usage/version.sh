xseg version
