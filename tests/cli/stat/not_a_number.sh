xseg stat me
