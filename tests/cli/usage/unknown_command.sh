xseg rplay
