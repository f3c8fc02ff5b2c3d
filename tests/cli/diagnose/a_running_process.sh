ALLOC_CONF=snapshot_signal:10,snapshot_path:here-%p.pickle XSEG_SIM_DATA=0 \
    xseg replay --driver sim --passes 1000 "$DATA/../../../bench/traces/llama_varlen.trace.gz" >out 2>&1 &
pid=$!
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
    xseg stat $pid >/dev/null 2>&1 && break
    sleep 0.1
done
xseg diagnose $pid | head -1
ls here-$pid.pickle | sed "s/$pid/PID/"
kill $pid
wait $pid 2>/dev/null
xseg diagnose $pid 2>&1 | sed "s/ [0-9][0-9]*:/ PID:/"
true
