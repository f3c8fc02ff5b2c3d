xseg run -- no-such-program
