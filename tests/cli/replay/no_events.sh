printf '# xseg-trace 1\n# events 0 streams 0 peak_requested 0\n' >none.trace
xseg replay --driver sim --json none.trace 2>/dev/null >out || exit
python3 -c '
import json
t = json.load(open("out"))
print(t["events"], t["reserved_over_requested"])'
