xseg bench --quick --driver sim --json "$DATA/small.trace" 2>/dev/null >out || exit
python3 -c '
import json
rows = [json.loads(line) for line in open("out")]
common = ["bench", "contestant", "driver", "threads", "cores", "size", "ns_per_pair", "p50_ns", "p999_ns",
          "control_ns", "ratio_to_control"]
for r in rows:
    assert list(r)[:len(common)] == common, r
    assert r["driver"] == "sim" and r["cores"] >= 1 and r["threads"] >= 1 and r["size"] >= 0, r
    assert r["ns_per_pair"] > 0 and r["control_ns"] > 0 and r["p999_ns"] >= r["p50_ns"] >= 0, r
    assert abs(r["ratio_to_control"] * r["control_ns"] / r["ns_per_pair"] - 1) < 0.01, r
def keys(*names): return sorted({tuple(r[n] for n in names) for r in rows if r["contestant"] == "xseg"})
for bench in dict.fromkeys(r["bench"] for r in rows):
    mine = [r for r in rows if r["bench"] == bench and r["contestant"] == "xseg"]
    print(bench, *dict.fromkeys(r["contestant"] for r in rows if r["bench"] == bench))
    print("   sizes", *dict.fromkeys(r["size"] for r in mine), "threads", *dict.fromkeys(r["threads"] for r in mine))
    print("  ", *list(mine[0])[len(common):])'
