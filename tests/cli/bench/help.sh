xseg help bench
