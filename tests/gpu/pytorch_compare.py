"""Tables of what pytorch_run.py has collected; says what passed.

    pytorch_compare.py RESULTS

Times are compared group by group, since a group of steps is of nearly the same moment and has the same work in all three: the table
has the median of xseg/native over the groups of all turns, with its interval of 95 %, and of expandable/native, which shows what noise
there is. "open": the median says slower, but not its whole interval. What is requested is what the native allocator says it was, to
the byte, for all three: they have the same requests.
"""
import collections
import itertools
import json
import statistics
import sys

from median_interval import median_interval

ALLOCATORS = ("native", "expandable", "xseg")
MOST = 1.03  # peak reserved over peak requested
SLOWER = 0.01  # a step may be
FASTER = ("small",)  # bound by the CPU: has to be no slower at all
MiB = 1 << 20

with open(sys.argv[1]) as f:
    results = [json.loads(line) for line in f if line.strip()]
turns = collections.defaultdict(lambda: collections.defaultdict(list))  # workload, allocator
probes = collections.defaultdict(lambda: collections.defaultdict(list))  # the same
for r in results:
    if "turn" in r:
        turns[r["workload"]][r["allocator"]].append(r)
    elif "probe" in r:
        probes[r["workload"]][r["allocator"]].append(r)
counts = collections.Counter()


def verdict(good):
    """good None: not settled."""
    kind = "open" if good is None else "passed" if good else "failed"
    counts[kind] += 1
    return {"open": "open", "passed": "ok", "failed": "FAIL"}[kind]


# ---- times -------------------------------------------------------------------------------------------


def ms(runs):
    return statistics.median(x for r in runs for x in r["ms"])


def changes(ours, theirs):
    """Of each group that both have had."""
    other = {r["turn"]: r["ms"] for r in theirs}
    return [a / b - 1 for r in ours if r["turn"] in other for a, b in zip(r["ms"], other[r["turn"]], strict=True)]


def span(numbers):
    return "{:+.2f} ({:+.2f}…{:+.2f})".format(*(x * 100 for x in median_interval(numbers)))


def judge_time(name, numbers):
    most = 0 if name in FASTER else SLOWER
    median, low, _ = median_interval(numbers)
    return True if median <= most else False if low > most else None


# ---- losses ------------------------------------------------------------------------------------------


def off(a, b):
    """Over the steps that both have: turns are not of the same length."""
    return max(abs(float.fromhex(x) - float.fromhex(y)) for x, y in zip(a["losses"], b["losses"]))


def judge_losses(runs):
    """Identical where PyTorch's own are, else off from the nearest of them by at most twice what any two of them are."""
    own = runs["native"] + runs["expandable"]
    allowed = max(off(a, b) for a, b in itertools.combinations(own, 2))
    worst = max(min(off(ours, theirs) for theirs in own) for ours in runs["xseg"])
    return ("same" if worst == 0 else f"{worst:.1e}"), worst <= 2 * allowed


# ---- tables ------------------------------------------------------------------------------------------


def requested(runs):
    return max(r["requested"] for r in runs["native"])


def why_not(runs):
    for allocator in ALLOCATORS:
        for r in runs[allocator]:
            for why in ("skipped", "failed", "out_of_memory"):
                if why in r:
                    return f"{allocator} {why}: {r[why].strip()[-300:]}", why == "skipped"
    return (None, False) if all(runs[a] for a in ALLOCATORS) else ("not run with all three", True)


def table():
    print(f"{'workload':17}{'losses':>8}  {'reserved/requested':^26}  {'ms a step':^26} {'xseg/native, %':>22} {'expand./native, %':>22}")
    print(f"{'':17}{'':8}  {'native':>8}{'expand.':>9}{'xseg':>8}   {'native':>8}{'expand.':>9}{'xseg':>8}")
    for name, runs in turns.items():
        why, skipped = why_not(runs)
        if why:
            counts["skipped" if skipped else "failed"] += 1
            print(f"{name:17} {'skipped' if skipped else 'FAIL'}: {why}")
            continue
        each = [runs[a] for a in ALLOCATORS]
        memory = [max(r["reserved"] for r in all_runs) / requested(runs) for all_runs in each]
        text, same = judge_losses(runs)
        change, control = (changes(runs[a], runs["native"]) for a in ("xseg", "expandable"))
        print(f"{name:17}{text:>8}  " + "".join(f"{x:9.3f}" for x in memory)[1:] + "   "
              + "".join(f"{ms(x):9.2f}" for x in each)[1:]
              + f" {span(change):>22} {span(control):>22}   losses {verdict(same)}, "
              + f"memory {verdict(memory[2] <= MOST)}, time {verdict(judge_time(name, change))} ({len(change)} groups)")


def explain():
    """What the allocators did in the timed steps of their latest turn, a step."""
    print(f"\na step of the timed ones{'':9}{'calls':>8}{'hits, %':>9}{'driver ms':>11}{'growths':>9}{'waits':>7}{'host ms':>9}   "
          f"native: {'mallocs':>8}{'retries':>9}{'host ms':>9}")
    for name, runs in turns.items():
        if why_not(runs)[0]:
            continue
        ours, native = runs["xseg"][-1], runs["native"][-1]
        steps, s, n = ours["steps"], ours["steady"], native["steady"]
        calls = max(1, s["allocations"])
        print(f"{name:33}{calls / steps:8.0f}{s['cache_hits'] * 100 / calls:9.1f}{s['driver_wall_ns'] / 1e6 / steps:11.3f}"
              f"{(s['rung_map'] + s['rung_create']) / steps:9.2f}{s['rung_wait'] / steps:7.2f}{ours['host_ms']:9.2f}   "
              f"        {n['num_device_alloc'] / steps:8.2f}{n['num_alloc_retries'] / steps:9.2f}{native['host_ms']:9.2f}")


def smallest(name, allocator):
    """The bytes of its smallest limit, or of what it takes without one, and the run; None if it failed but for want of memory."""
    tries = probes[name][allocator]
    for r in tries:
        if "failed" in r:
            print(f"{name}: {allocator} failed at {r['limit']:.0f} MiB: {r['failed'].strip()[-300:]}")
            return None
    done = [(r["limit"] * MiB, r) for r in tries if "losses" in r] + [(r["reserved"], r) for r in turns[name][allocator]]
    return min(done, key=lambda x: x[0])


def beside_others(r, *names):
    """What a step of the second half of a try took; of a turn, which had no limit, nothing is said."""
    if "turn" in r:
        return "".join(f"{'-':>9}" for _ in range(len(names) + 1))
    share = {"driver_wall_ns": 1e6}
    return "".join(f"{r['steady'][n] / share.get(n, 1) / r['steps']:9.2f}" for n in names) + f"{statistics.median(r['ms']):9.1f}"


def limits():
    if probes:
        print(f"\n{'smallest limit / requested':27}{'expand.':>9}{'xseg':>9}   a step there, of several side by side: expand.:"
              f"{'retries':>9}{'ms':>9}   xseg:{'waits':>9}{'driver ms':>9}{'ms':>9}")
    for name in sorted(probes):
        if why_not(turns[name])[0]:
            continue
        best = [smallest(name, allocator) for allocator in ("expandable", "xseg")]
        if not all(best):
            print(f"{name:27}{verdict(False)}")
            continue
        (theirs, a), (ours, b) = best
        print(f"{name:27}" + "".join(f"{limit / requested(turns[name]):9.4f}" for limit in (theirs, ours)) + f"{'':51}"
              + beside_others(a, "num_alloc_retries") + f"{'':8}" + beside_others(b, "rung_wait", "driver_wall_ns")
              + f"   {verdict(ours <= theirs)}")


def soak():
    for r in results:
        if "soak" in r and "failed" in r:
            print(f"\nsoak: {verdict(False)}: {r['failed']}")
    tenths = [r for r in results if "soak" in r and "reserved" in r]
    if len(tenths) < 3:
        return
    third = len(tenths) // 3
    first, last = (max(r["reserved"] for r in some) for some in (tenths[:third], tenths[-third:]))
    steps, calls = sum(r["steps"] for r in tenths), sum(r["counters"]["allocations"] for r in tenths)
    print(f"\nsoak: {steps} steps, {calls} allocations; reserved at most {first / MiB:.0f} MiB in the first third, {last / MiB:.0f} in "
          f"the last: {verdict(last <= first * 1.01)}")
    print("MiB, each tenth, at most/at its end: " + " ".join(f"{r['reserved'] / MiB:.0f}/{r['freed'] / MiB:.0f}" for r in tenths))


print(next((r["on"] for r in results if "on" in r), "nothing was run"))
table()
explain()
limits()
soak()
print(f"{counts['passed']} passed, {counts['failed']} failed, {counts['skipped']} skipped, {counts['open']} open")
sys.exit(counts["failed"] > 0)
