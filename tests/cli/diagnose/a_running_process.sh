[ -w /dev/shm ] || exit 77 # where the page lies
. "$DATA/wait.sh"
ALLOC_CONF=snapshot_signal:10,snapshot_path:here-%p.pickle XSEG_SIM_DATA=0 \
    xseg replay --driver sim --passes 1000 "$DATA/../../../bench/traces/llama_varlen.trace.gz" >out 2>&1 &
pid=$!
wait_for xseg stat $pid
xseg diagnose $pid | head -1
ls here-$pid.pickle | sed "s/$pid/PID/"
kill $pid
wait $pid 2>/dev/null
xseg diagnose $pid 2>&1 | sed "s/ [0-9][0-9]*:/ PID:/; $SWEPT"
true
