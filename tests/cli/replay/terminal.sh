# On a terminal there are escape codes, and with NO_COLOR there are none.
command -v script >/dev/null || exit 77
export TERM=xterm
command="xseg replay --driver sim '$DATA/small.trace'"
script -qec "$command" /dev/null | grep -c "$(printf '\033\\[1m')"
NO_COLOR=1 script -qec "$command" /dev/null | grep -c "$(printf '\033\\[1m')"
exit 0
