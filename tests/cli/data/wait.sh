# wait_for COMMAND...: until it succeeds; a minute at most
wait_for() {
    tries=0
    until "$@" >/dev/null 2>&1 || [ $((tries += 1)) -gt 600 ]; do sleep 0.1; done
}
# Any process that begins may sweep what a dead one has left, and then nobody knows of it.
SWEPT='s/no process of yours with that number runs xseg/the process has ended/'
