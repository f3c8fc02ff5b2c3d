xseg help replay
