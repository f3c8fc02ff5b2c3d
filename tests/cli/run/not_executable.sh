touch plain
xseg run ./plain
