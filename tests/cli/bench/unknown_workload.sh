xseg bench --driver sim --only pair,chrn
