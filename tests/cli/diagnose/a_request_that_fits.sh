xseg diagnose "$DATA/pytorch.pickle" --device 0 --request 64M --limit 4G
