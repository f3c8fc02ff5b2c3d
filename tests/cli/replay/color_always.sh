xseg replay --driver sim --color always "$DATA/small.trace" | grep -c "$(printf "\033\\[1m")"
