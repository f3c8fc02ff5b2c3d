xseg replay --driver sim --json --limit 22MiB "$DATA/small.trace" 2>/dev/null >out
code=$?
python3 -c '
import json
t = json.load(open("out"))
print(t["oom_event"], t["limit"], t["passes"][0]["events"])'
exit $code
