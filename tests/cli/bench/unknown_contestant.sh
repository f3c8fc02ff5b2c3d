xseg bench --driver sim --contestants xseg,gribc
