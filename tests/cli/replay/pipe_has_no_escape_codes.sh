TERM=xterm xseg replay --driver sim "$DATA/small.trace" | grep -c "$(printf "\033")"
exit 0
