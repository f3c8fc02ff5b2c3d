"""One table of what pytorch_workload.py printed for each allocator; says what passed.

    pytorch_compare.py NATIVE.json EXPANDABLE.json XSEG.json [SOAK.json]
"""
import json
import sys

MOST = 1.03  # peak reserved over peak requested


def read(name):
    with open(name) as f:
        return {r.get("workload", "soak"): r for r in map(json.loads, f)}


native, expandable, xseg = map(read, sys.argv[1:4])
passed = failed = skipped = 0


def verdict(good):
    global passed, failed
    passed, failed = passed + good, failed + (not good)
    return "ok" if good else "FAIL"


def numbers(result):
    return [float.fromhex(x) for x in result["losses"]]


def spread(a, b):
    return max(abs(x - y) for x, y in zip(numbers(a), numbers(b), strict=True))


def losses(name):
    """Identical where PyTorch's own two are, else as near as these are to each other."""
    own, other, ours = native[name], expandable[name], xseg[name]
    allowed = spread(own, other)
    off = min(spread(own, ours), spread(other, ours))
    return ("same" if off == 0 else f"{off:.1e}"), off <= 2 * allowed if allowed else off == 0


print(f"{'workload':18}{'losses':>9}  {'reserved/requested':^28}  {'ms a step':^30}")
print(f"{'':18}{'':>9}  {'native':>8}{'expand.':>9}{'xseg':>8}    {'native':>8}{'expand.':>9}{'xseg':>8}{'':5}")
for name, ours in xseg.items():
    each = [table.get(name, {"skipped": "not run"}) for table in (native, expandable, xseg)]
    if any("skipped" in r for r in each):
        skipped += 1
        print(f"{name:18} skipped: {next(r['skipped'] for r in each if 'skipped' in r)}")
        continue
    if any("out_of_memory" in r for r in each):
        print(f"{name:18} {verdict('out_of_memory' not in ours)}: out of memory: "
              + ", ".join(n for n, r in zip(("native", "expandable", "xseg"), each) if "out_of_memory" in r))
        continue
    text, same = losses(name)
    ratios = [r["reserved"] / r["requested"] for r in each]
    ms = [r["ms"] for r in each]
    print(f"{name:18}{text:>9}  {ratios[0]:8.3f}{ratios[1]:9.3f}{ratios[2]:8.3f}    {ms[0]:8.2f}{ms[1]:9.2f}{ms[2]:8.2f}"
          f" {(ms[2] / ms[0] - 1) * 100:+5.1f} %  losses {verdict(same)}, memory {verdict(ratios[2] <= MOST)}")
if len(sys.argv) > 4:
    most = [n for n in read(sys.argv[4])["soak"]["reserved"] if n]
    first, last = max(most[: max(1, len(most) // 3)]), max(most[-max(1, len(most) // 3):])
    print(f"soak: reserved at most {first / 2**20:.0f} MiB in the first third, {last / 2**20:.0f} in the last: "
          f"{verdict(last <= first * 1.01)}")
print(f"{passed} passed, {failed} failed, {skipped} skipped")
sys.exit(failed > 0)
