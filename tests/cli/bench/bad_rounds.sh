xseg bench --driver sim --rounds 1002
