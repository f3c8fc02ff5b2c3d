xseg replay --driver sim - <"$DATA/small.trace" | grep -c "^stdin  "
