xseg bench --quick --driver sim --only pair,growth --contestants xseg,glibc
