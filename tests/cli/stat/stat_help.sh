xseg stat --help; xseg top --help
