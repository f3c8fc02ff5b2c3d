xseg diagnose "$DATA/pytorch.pickle" --device 0 --json --batch 4
