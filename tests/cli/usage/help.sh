xseg help
