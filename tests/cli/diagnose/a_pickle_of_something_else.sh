printf "\200\002}." >other.pickle
xseg diagnose other.pickle
