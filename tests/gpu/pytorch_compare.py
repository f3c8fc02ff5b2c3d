"""Tables of what pytorch_run.py has collected; says what passed.

    pytorch_compare.py RESULTS

Times of xseg and native are compared step by step, since a step of a number has the same work in both; a turn's figure is
the median over its steps, and the table has the median, the least and the most over turns. "open": the turns disagree.
"""
import collections
import json
import sys

ALLOCATORS = ("native", "expandable", "xseg")
MOST = 1.03  # peak reserved over peak requested
SLOWER = 0.01  # a step may be
FASTER = ("small",)  # bound by the CPU: has to be no slower at all
MiB = 1 << 20

with open(sys.argv[1]) as f:
    results = [json.loads(line) for line in f if line.strip()]
turns = collections.defaultdict(lambda: collections.defaultdict(list))  # workload, allocator
probes = collections.defaultdict(list)  # workload, allocator: those that completed
probed = set()
for r in results:
    if "turn" in r:
        turns[r["workload"]][r["allocator"]].append(r)
    elif "probe" in r:
        probed.add(r["workload"])
        if "losses" in r:
            probes[r["workload"], r["allocator"]].append(r)
counts = collections.Counter()


def verdict(good):
    """good None: not settled."""
    kind = "open" if good is None else "passed" if good else "failed"
    counts[kind] += 1
    return {"open": "open", "passed": "ok", "failed": "FAIL"}[kind]


def median(numbers):
    return sorted(numbers)[len(numbers) // 2]


# ---- times -------------------------------------------------------------------------------------------


def ms(runs):
    return median([median(r["ms"]) for r in runs])


def spread(runs):
    all_ms = [median(r["ms"]) for r in runs]
    return (max(all_ms) - min(all_ms)) / median(all_ms)


def ratios(ours, theirs):
    """One for each turn that both have had."""
    other = {r["turn"]: r for r in theirs}
    both = [(r, other[r["turn"]]) for r in ours if r["turn"] in other]
    return [median([a / b for a, b in zip(x["ms"], y["ms"], strict=True)]) - 1 for x, y in both]


def judge_time(name, changes):
    most = 0 if name in FASTER else SLOWER
    return True if median(changes) <= most else False if min(changes) > most else None


# ---- losses ------------------------------------------------------------------------------------------


def off(a, b):
    return max(abs(float.fromhex(x) - float.fromhex(y)) for x, y in zip(a["losses"], b["losses"], strict=True))


def judge_losses(runs):
    """Identical where PyTorch's own are, else as near to one of them as they are to each other."""
    own = runs["native"] + runs["expandable"]
    allowed = max(off(a, own[0]) for a in own)
    worst = max(min(off(ours, theirs) for theirs in own) for ours in runs["xseg"])
    return ("same" if worst == 0 else f"{worst:.1e}"), worst <= 2 * allowed if allowed else worst == 0


# ---- tables ------------------------------------------------------------------------------------------


def why_not(runs):
    for allocator in ALLOCATORS:
        for r in runs[allocator]:
            for why in ("skipped", "failed", "out_of_memory"):
                if why in r:
                    return f"{allocator} {why}: {r[why].strip()[-300:]}", why == "skipped"
    return (None, False) if all(runs[a] for a in ALLOCATORS) else ("not run with all three", True)


def table():
    print(f"{'workload':17}{'losses':>8}  {'reserved/requested':^26}  {'ms a step':^26} {'xseg/native, %':>22}  {'spread, %':^12}")
    print(f"{'':17}{'':8}  {'native':>8}{'expand.':>9}{'xseg':>8}   {'native':>8}{'expand.':>9}{'xseg':>8} {'':>22}  native  xseg")
    for name, runs in turns.items():
        why, skipped = why_not(runs)
        if why:
            counts["skipped" if skipped else "failed"] += 1
            print(f"{name:17} {'skipped' if skipped else 'FAIL'}: {why}")
            continue
        each = [runs[a] for a in ALLOCATORS]
        memory = [max(r["reserved"] / r["requested"] for r in all_runs) for all_runs in each]
        text, same = judge_losses(runs)
        change = ratios(runs["xseg"], runs["native"])
        span = f"{median(change) * 100:+.2f} ({min(change) * 100:+.1f}…{max(change) * 100:+.1f})"
        print(f"{name:17}{text:>8}  " + "".join(f"{x:9.3f}" for x in memory)[1:] + "   "
              + "".join(f"{ms(x):9.2f}" for x in each)[1:]
              + f" {span:>22}  {spread(each[0]) * 100:5.1f}  {spread(each[2]) * 100:5.1f}   losses {verdict(same)}, "
              + f"memory {verdict(memory[2] <= MOST)}, time {verdict(judge_time(name, change))} ({len(change)} turns)")


def explain():
    """What the allocators did in the timed steps of their latest turn, a step."""
    print(f"\na step of the timed ones{'':9}{'calls':>8}{'hits, %':>9}{'driver ms':>11}{'growths':>9}{'waits':>7}{'host ms':>9}   "
          f"native: {'mallocs':>8}{'retries':>9}{'host ms':>9}")
    for name, runs in turns.items():
        if why_not(runs)[0]:
            continue
        ours, native = runs["xseg"][-1], runs["native"][-1]
        steps, s, n = len(ours["ms"]), ours["steady"], native["steady"]
        calls = max(1, s["allocations"])
        print(f"{name:33}{calls / steps:8.0f}{s['cache_hits'] * 100 / calls:9.1f}{s['driver_wall_ns'] / 1e6 / steps:11.3f}"
              f"{(s['rung_map'] + s['rung_create']) / steps:9.2f}{s['rung_wait'] / steps:7.2f}{ours['host_ms']:9.2f}   "
              f"        {n['num_device_alloc'] / steps:8.2f}{n['num_alloc_retries'] / steps:9.2f}{native['host_ms']:9.2f}")


def limits():
    if probed:
        print(f"\n{'smallest limit / requested':27}{'expand.':>9}{'xseg':>9}   ms a step there: expand.     xseg")
    for name in sorted(probed):
        best = {}
        for allocator in ("expandable", "xseg"):
            for r in probes[name, allocator] + [r for r in turns[name][allocator] if "losses" in r]:
                limit = r["limit"] or -(-r["reserved"] // MiB)  # without a limit: what it took
                if allocator not in best or limit < best[allocator][0]:
                    best[allocator] = (limit, r)
        if len(best) == 2:
            share = {a: limit * MiB / r["requested"] for a, (limit, r) in best.items()}
            print(f"{name:27}{share['expandable']:9.4f}{share['xseg']:9.4f}{'':16}"
                  + "".join(f"{median(best[a][1]['ms']):9.2f}" for a in ("expandable", "xseg"))
                  + f"   {verdict(share['xseg'] <= share['expandable'])}")


def soak():
    for r in results:
        if "soak" in r and "failed" in r:
            print(f"\nsoak: {verdict(False)}: {r['failed']}")
    most = [r["reserved"] for r in results if "soak" in r and "reserved" in r]
    if len(most) < 3:
        return
    third = len(most) // 3
    first, last = max(most[:third]), max(most[-third:])
    print(f"\nsoak: reserved at most {first / MiB:.0f} MiB in the first third, {last / MiB:.0f} in the last: "
          f"{verdict(last <= first * 1.01)}")


print(next((r["on"] for r in results if "on" in r), "nothing was run"))
table()
explain()
limits()
soak()
print(f"{counts['passed']} passed, {counts['failed']} failed, {counts['skipped']} skipped, {counts['open']} open")
sys.exit(counts["failed"] > 0)
