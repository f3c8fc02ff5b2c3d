for n in 1 6 99; do
    "$DATA/../../../bench/traces/cut.sh" $n <"$DATA/small.trace" >part.trace || exit
    xseg replay --driver sim --json part.trace 2>/dev/null >out || exit
    python3 -c 'import json; t = json.load(open("out")); print(t["events"], t["peak_requested"], t["peers"])'
done
