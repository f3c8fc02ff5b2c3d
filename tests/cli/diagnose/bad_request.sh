xseg diagnose "$DATA/pytorch.pickle" --request much
