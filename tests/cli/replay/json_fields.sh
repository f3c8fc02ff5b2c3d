xseg replay --driver sim --json --passes 2 --limit 2x "$DATA/small.trace" 2>/dev/null >out || exit
python3 -c '
import json
t = json.load(open("out"))
print(*t)
print(t["trace"], t["driver"], t["conf"], t["limit"], t["verify"], t["events"], t["streams"])
print(t["peak_requested"], t["peers"], t["oom_event"], t["leaked_bytes"], t["mismatches"])
print(*t["driver_calls"])
print(*t["passes"][0])
assert len(t["passes"]) == 2
assert t["peak_requested"] <= t["peak_allocated"] <= t["peak_reserved"]
assert abs(t["reserved_over_requested"] - t["peak_reserved"] / t["peak_requested"]) < 1e-5
assert t["passes"][1]["driver_calls"]["create"] == 0'
