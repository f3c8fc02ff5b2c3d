"""Runs pytorch_workload.py again and again within so many minutes, each time in a process of its own.

    pytorch_run.py RESULTS [--minutes N] [--workloads A,B] [--repeat R] [--limits] [--soak MINUTES] [--worker COMMAND]

RESULTS gets a line of JSON for each run as soon as it has ended, behind what it has already; pytorch_compare.py makes a table of
it. So a run that is cut off loses nothing, and may be taken up by another. In order:

  check    a few steps of each allocator: what would go wrong everywhere goes wrong at once
  times    a turn of each workload, as often as there is time for, at most R times; workloads that have had fewest come first
  limits   --limits: the smallest limit at which a workload completes, of expandable and of xseg
  soak     --soak: variable lengths on xseg

In a turn, native, expandable and xseg go in lockstep: one has the machine for a group of steps while the other two wait. So the
three times of a group are of nearly the same moment, and, all being on one processor core, of the same clocks. The order changes
from group to group. There are as many groups as there is time for within --seconds, six or a multiple of six.

Limits are tried by bisection on a ladder: RUNGS times what is requested at once, and what each of the two reserved without a limit in
their latest turn. A try is of one pass through a workload's data, up to eight side by side; so its times are no measurement. A limit
that completes is taken to hold for all above it, and one's own reserved without a limit is not tried.

Exit status 1: the check failed, and nothing else was run. What was left out for want of time is said at the end.
"""
import argparse
import collections
import concurrent.futures
import itertools
import json
import os
import shlex
import statistics
import subprocess
import sys
import tempfile
import threading
import time

from one_core import share_one_core

# those that are hardest to settle first, should the time be short
NAMES = ("generate", "small", "llama_varlen", "lora", "accumulation", "maskrcnn", "experts", "llama_checkpoint", "llama_bucketed",
         "llama_fixed")
ALLOCATORS = ("native", "expandable", "xseg")
RUNGS = (1.002, 1.005, 1.01, 1.02, 1.03, 1.04)
TOGETHER, MEMORY = 8, 120 << 30  # tries side by side, and what they may reserve in all
MiB = 1 << 20

parser = argparse.ArgumentParser()
parser.add_argument("results")
parser.add_argument("--minutes", type=float, default=10, help="for everything")
parser.add_argument("--workloads", default=",".join(NAMES))
parser.add_argument("--repeat", type=int, default=5)
parser.add_argument("--limits", action="store_true")
parser.add_argument("--soak", type=float, default=0)
parser.add_argument("--grace", type=float, default=15, help="seconds for a run that is under way when the time is over")
parser.add_argument("--seconds", type=float, default=10, help="for the groups of a turn, of all three")
parser.add_argument("--patience", type=float, default=60, help="seconds for a warm-up or a group")
parser.add_argument("--guess", type=float, default=30, help="seconds that a workload's first turn, or a try, is thought to take")
parser.add_argument("--worker", default=f"{shlex.quote(sys.executable)} tests/gpu/pytorch_workload.py")
args = parser.parse_args()
end = time.time() + args.minutes * 60
left_out, recording = [], threading.Lock()


def seconds_left():
    return end - time.time()


# ---- runs --------------------------------------------------------------------------------------------


class Run:
    """A process that waits for a line before each thing it does. Once it has ended, by itself or not, there is a result."""

    def __init__(self, allocator, workload, **options):
        self.what = {"allocator": allocator, "workload": workload, **options}
        self.waits, self.result = False, None
        command = shlex.split(args.worker) + [allocator, workload, "--wait"]
        for name, value in options.items():
            command += [f"--{name}", str(value)]
        self.errors = tempfile.TemporaryFile("w+", errors="replace")
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors, text=True)

    def go(self, word="go"):
        self.waits = False
        try:
            os.write(self.process.stdin.fileno(), f"{word}\n".encode())
        except BrokenPipeError:
            pass  # settle() says why

    def settle(self):
        """Until it waits again or has ended; it is killed where that takes too long."""
        if self.waits or self.result:
            return
        begin, patience = time.monotonic(), max(1, min(args.patience, seconds_left() + args.grace))
        watchdog = threading.Timer(patience, self.process.kill)
        watchdog.start()
        line = next((x for x in self.process.stdout if x == "waits\n" or x.startswith("{") and x.endswith("}\n")), "")
        watchdog.cancel()
        self.waits = line == "waits\n"
        if line.startswith("{"):
            self.result = json.loads(line)
        elif not line:
            self.result = {**self.what, **self.end(patience if time.monotonic() - begin >= patience else 0)}

    def end(self, after=0):
        """after: seconds without an answer, 0 if it did not come to that."""
        self.process.kill()
        status = self.process.wait()
        if after and seconds_left() < 0:
            return {"cut": "the time is over"}
        self.errors.seek(0)
        how = f"killed after {after:.0f} s" if after else f"exit status {status}"
        return {"failed": f"{self.errors.read().strip()[-3000:]}\n{how}".strip()}


def orders(runs):
    """Each of three is as often first, second and last, and as often after each other one, also from an order to the next."""
    return [way[i:] + way[:i] for way in (runs, runs[::-1]) for i in range(len(runs))]


def enough(done, groups, begin):
    return done == groups if groups else done > 0 and done % 6 == 0 and time.monotonic() - begin >= args.seconds


def lockstep(runs, groups=0, start_next=list):
    """So many groups, or by the clock; but only until one fails. The next ones load PyTorch while these warm up; then they wait."""
    for run in runs:
        run.settle()
    for run in runs:
        run.go()
    ahead = start_next()
    for run in runs + ahead:
        run.settle()
    if len(runs) > 1:
        share_one_core([run.process.pid for run in runs if not run.result])
    begin = time.monotonic()
    for done, order in enumerate(itertools.cycle(orders(runs))):
        failed = any(run.result for run in runs)
        if failed or enough(done, groups, begin):
            break
        for run in order:
            run.go()
            run.settle()
    for run in [] if failed else runs:
        run.go("end")
        run.settle()
    for run in runs:
        run.end()
    return ahead


def record(runs, **more):
    """The results, which are also appended to the file; what the end of the time has cut off is not."""
    results = [{**run.result, **more} for run in runs if run.result]
    if not any("cut" in r for r in results):
        with recording, open(args.results, "a") as f:
            f.writelines(json.dumps(r) + "\n" for r in results)
    return results


def earlier():
    try:
        with recording, open(args.results) as f:
            return [json.loads(line) for line in f if line.strip()]
    except FileNotFoundError:
        return []


# ---- the parts ---------------------------------------------------------------------------------------


def check():
    runs = [Run(allocator, "small") for allocator in ALLOCATORS]
    lockstep(runs, groups=3)
    losses = {}
    for result in record(runs, check=True):
        if "losses" not in result:
            print(f"the check failed with {result['allocator']}:\n{result.get('failed') or result}", file=sys.stderr)
            return False
        losses[result["allocator"]] = result["losses"]
    if losses["xseg"] != losses["native"]:
        print(f"check: losses differ already: {losses}", flush=True)
    return True


def times(names, until):
    done = collections.Counter(workload for workload, _ in {(r["workload"], r["turn"]) for r in earlier() if "turn" in r})
    cost, given_up = {}, set()

    def fits(name):
        return done[name] < args.repeat and name not in given_up and cost.get(name, args.guess) <= until()

    def start():
        name = min(filter(fits, names), key=lambda n: done[n], default=None)
        return [Run(allocator, name) for allocator in ALLOCATORS] if name else []

    runs = start()
    while runs:
        name, begin = runs[0].what["workload"], time.time()
        done[name] += 1
        ahead = lockstep(runs, start_next=start)
        results = record(runs, turn=done[name] - 1)
        cost[name] = time.time() - begin
        if any("cut" in r for r in results):
            done[name] -= 1
        else:
            print(f"{name} {done[name]}: " + ", ".join(brief(r) for r in results), flush=True)
        if any("losses" not in r for r in results):
            given_up.add(name)
        if ahead and not fits(ahead[0].what["workload"]):
            for run in ahead:
                run.end()
            ahead = []
        runs = ahead or start()
    for name in names:
        if done[name] < args.repeat:
            left_out.append(f"{name}: {done[name]} of {args.repeat} turns")


def brief(result):
    for why in ("skipped", "failed", "out_of_memory"):
        if why in result:
            return f"{result['allocator']} {why}: {result[why].strip()[-160:]}"
    return f"{result['allocator']} {statistics.median(result['ms']):.2f} ms"


def attempt(allocator, workload, limit):
    run = Run(allocator, workload, limit=limit, groups=0)
    lockstep([run], groups=1)
    return record([run], probe=True)[0]


def smallest_limit(allocator, workload, rungs, until):
    """rungs: MiB, ascending; above them is what is reserved without a limit."""
    tried = {r["limit"]: "losses" in r for r in earlier() if "probe" in r and (r["allocator"], r["workload"]) == (allocator, workload)}
    low, high = 0, len(rungs)
    while low < high:
        limit = rungs[middle := (low + high) // 2]
        if limit not in tried:
            result = attempt(allocator, workload, limit) if until() >= args.guess else {"cut": "the time is over"}
            if "cut" in result:
                left_out.append(f"limit of {workload} with {allocator}: not tried at {rungs[low:high]} MiB")
                return
            tried[limit] = "losses" in result
        low, high = (low, middle) if tried[limit] else (middle + 1, high)


def limits(names, until):
    plain = {(r["allocator"], r["workload"]): r for r in earlier() if "turn" in r and "losses" in r}
    searches = []
    for name in names:
        if any((allocator, name) not in plain for allocator in ALLOCATORS):
            left_out.append(f"limits of {name}: it has no turn")
            continue
        requested, *most = (plain[allocator, name][what] for allocator, what in zip(ALLOCATORS, ("requested", "reserved", "reserved")))
        ladder = sorted({round(requested * rung / MiB) for rung in RUNGS} | {-(-n // MiB) for n in most})
        searches += [(a, name, [rung for rung in ladder if rung * MiB < n], until) for a, n in zip(ALLOCATORS[1:], most)]
    largest = max((rungs[-1] for _, _, rungs, _ in searches if rungs), default=1)
    with concurrent.futures.ThreadPoolExecutor(max(1, min(TOGETHER, MEMORY // (largest * MiB)))) as pool:
        for search in [pool.submit(smallest_limit, *search) for search in searches]:
            search.result()


def soak(minutes):
    command = shlex.split(args.worker) + ["xseg", "--soak", str(minutes)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process, open(args.results, "a") as f:
        for line in process.stdout:
            f.write(line)
            f.flush()
        if process.wait():
            f.write(json.dumps({"soak": minutes, "failed": f"exit status {process.returncode}"}) + "\n")


def main():
    names = args.workloads.split(",")
    unknown = [n for n in names if n not in NAMES]
    if unknown:
        parser.error(f"no workload {unknown[0]}; there are {', '.join(NAMES)}")
    if not check():
        return 1
    kept = args.soak * 60
    times(names, lambda: seconds_left() - kept - (min(180, 0.4 * (args.minutes * 60 - kept)) if args.limits else 0))
    if args.limits:
        limits(names, lambda: seconds_left() - kept)
    if args.soak:
        minutes = min(args.soak, seconds_left() / 60 - 0.5)
        if minutes < args.soak:
            left_out.append(f"soak: {max(0, minutes):.1f} of {args.soak} minutes")
        if minutes > 0:
            soak(minutes)
    for what in left_out:
        print(f"left out: {what}")
    return 0


sys.exit(main())
