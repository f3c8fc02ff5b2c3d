xseg replay --driver sim --verify --json "$DATA/small.trace" 2>/dev/null >out || exit
python3 -c '
import json
t = json.load(open("out"))
assert t["reserved_end"] > 0 and abs(t["reserved_end"] - t["driver_used_end"]) <= 2 * 2**21
assert t["mismatches"] == 0 and t["ns_per_event"] is None'
