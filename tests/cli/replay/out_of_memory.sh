xseg replay --driver sim --limit 0.5x "$DATA/small.trace"
