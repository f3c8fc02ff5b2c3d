xseg diagnose "$DATA/pytorch.pickle" --device 0 --request 3G --limit 4G
