xseg run --recrod x -- true
