xseg bench --driver sim --only pair "$DATA/small.trace"
