XSEG_SIM_DATA=0 xseg replay --driver sim --passes 1000 "$DATA/../../../bench/traces/llama_varlen.trace.gz" >out 2>&1 &
pid=$!
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
    xseg stat $pid >seen 2>/dev/null && break
    sleep 0.1
done
sleep 0.6
xseg stat $pid
xseg stat $pid --json | tr , "\n" | grep -c "allocated_bytes.all.current\|largest_free_bytes\": null\|\"command\": \"xseg\""
xseg top --once | grep -c "^ *$pid  xseg"
kill $pid
wait $pid 2>/dev/null
xseg stat $pid 2>&1 | sed "s/ [0-9][0-9]*:/ PID:/"
true
