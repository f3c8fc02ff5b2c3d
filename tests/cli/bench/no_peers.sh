mkdir empty
xseg bench --driver sim --peers empty
