trace=$DATA/../../../bench/traces/llama_fixed.trace.gz
for behind in '' '--behind 500' '--behind 500 --conf alias:False'; do
    xseg replay --driver sim --json $behind "$trace" 2>/dev/null
done >out || exit
python3 -c '
import json
prompt, late, waits = (json.loads(line) for line in open("out"))
assert (prompt["behind"], late["behind"]) == (None, 500)
assert prompt["passes"][0]["waits"] == late["passes"][0]["waits"] == 0 < waits["passes"][0]["waits"]
assert late["ns_per_event"] is None and late["leaked_bytes"] == 0 and late["oom_event"] is None'
xseg replay --driver sim --behind 3 "$DATA/small.trace" | head -n 1
