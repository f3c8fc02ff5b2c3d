xseg diagnose "$DATA/pools.pickle"
