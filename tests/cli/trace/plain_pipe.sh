cat "$DATA/small.trace" | xseg replay --driver sim - | grep -c "^stdin  "
