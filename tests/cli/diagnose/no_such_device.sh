xseg diagnose "$DATA/pytorch.pickle" --device 7
