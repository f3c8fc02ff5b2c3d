xseg stat 1
