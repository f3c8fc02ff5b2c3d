xseg diagnose "$DATA/pytorch.pickle"
