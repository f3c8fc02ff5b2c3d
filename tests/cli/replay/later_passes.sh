xseg replay --driver sim --passes 3 "$DATA/small.trace" | grep -A 99 "^later"
