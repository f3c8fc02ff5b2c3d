# On a machine with a GPU there is nothing to say.
xseg replay --driver cuda "$DATA/small.trace" >/dev/null 2>&1 && exit 77
xseg replay "$DATA/small.trace" | head -n 1
