xseg metrics --help
