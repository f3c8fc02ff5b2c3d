[ -w /dev/shm ] || exit 77 # where the pages lie
. "$DATA/wait.sh"
XSEG_SIM_DATA=0 xseg replay --driver sim --passes 1000 "$DATA/../../../bench/traces/llama_varlen.trace.gz" >out 2>&1 &
pid=$!
wait_for xseg stat $pid
page=$(echo /dev/shm/xseg-$(id -u)-*-$pid)
[ -f "$page" ] && echo there
kill -KILL $pid
wait $pid 2>/dev/null
xseg replay --driver sim "$DATA/small.trace" >out
[ -f "$page" ] || echo gone
