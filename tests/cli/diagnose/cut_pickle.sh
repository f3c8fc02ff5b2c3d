head -c 3000 "$DATA/pytorch.pickle" >cut.pickle
xseg diagnose cut.pickle
