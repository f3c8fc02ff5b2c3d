xseg run --help
