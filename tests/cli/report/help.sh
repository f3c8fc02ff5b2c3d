xseg report --help
