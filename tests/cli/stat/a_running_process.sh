[ -w /dev/shm ] || exit 77 # where the page lies
. "$DATA/wait.sh"
XSEG_SIM_DATA=0 xseg replay --driver sim --passes 1000 "$DATA/../../../bench/traces/llama_varlen.trace.gz" >out 2>&1 &
pid=$!
wait_for xseg stat $pid
sleep 0.6
xseg stat $pid
xseg stat $pid --json | tr , "\n" | grep -c "allocated_bytes.all.current\|largest_free_bytes\": null\|\"command\": \"xseg\""
xseg top --once | grep -c "^ *$pid  xseg"
kill $pid
wait $pid 2>/dev/null
xseg stat $pid 2>&1 | sed "s/ [0-9][0-9]*:/ PID:/; $SWEPT"
true
