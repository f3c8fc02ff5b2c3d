xseg diagnose --help
