xseg replay --driver sim --conf bad_key:1 "$DATA/small.trace" "$DATA/small.trace" 2>&1 >/dev/null | grep -c "unknown key"
