xseg version >/dev/full
