xseg diagnose nowhere.pickle
