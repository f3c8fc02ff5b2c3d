xseg replay --driver sim --json "$DATA/small.trace" "$DATA/small.trace" 2>/dev/null >out || exit
python3 -c '
import json
a, b = [json.loads(line) for line in open("out")]
assert a["driver_calls"] == b["driver_calls"] and a["peak_reserved"] == b["peak_reserved"]'
