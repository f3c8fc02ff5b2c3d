"""Runs pytorch_workload.py again and again within so many minutes, each time in a process of its own.

    pytorch_run.py RESULTS [--minutes N] [--workloads A,B] [--repeat R] [--limits] [--soak MINUTES] [--worker COMMAND]

RESULTS gets a line of JSON as soon as a run has ended, behind what it has already; pytorch_compare.py makes a table of it. So
a run that is cut off loses nothing, and may be taken up by another. In order:

  check    three steps of each allocator: what would go wrong everywhere goes wrong at once
  times    each workload with native, expandable and xseg, then the same with the order reversed, as often as there is time
           for, at most R times; workloads that have had fewest turns come first
  limits   --limits: the smallest limit at which a workload completes, of expandable and of xseg, by bisection
  soak     --soak: variable lengths on xseg

Exit status 1: the check failed, and nothing else was run. What was left out for want of time is said at the end.
"""
import argparse
import collections
import json
import shlex
import subprocess
import sys
import time

NAMES = ("llama_fixed", "llama_varlen", "llama_bucketed", "llama_checkpoint", "lora", "accumulation", "maskrcnn", "experts",
         "generate", "small")
ALLOCATORS = ("native", "expandable", "xseg")
WITHOUT_LIMIT = ("small", "maskrcnn", "llama_fixed")  # not worth the time
MiB = 1 << 20
PATIENCE_S = 180  # for one run
FIRST_GUESS_S = 10  # what a turn takes

parser = argparse.ArgumentParser()
parser.add_argument("results")
parser.add_argument("--minutes", type=float, default=10, help="for everything")
parser.add_argument("--workloads", default=",".join(NAMES))
parser.add_argument("--repeat", type=int, default=5)
parser.add_argument("--limits", action="store_true")
parser.add_argument("--soak", type=float, default=0)
parser.add_argument("--grace", type=float, default=15, help="seconds for a run that is under way when the time is over")
parser.add_argument("--worker", default=f"{shlex.quote(sys.executable)} tests/gpu/pytorch_workload.py")
args = parser.parse_args()
end = time.time() + args.minutes * 60
left_out = []


def seconds_left():
    return end - time.time()


# ---- one run -----------------------------------------------------------------------------------------


class Run:
    """A process that has been started and waits, so that the next one loads PyTorch while this one works."""

    def __init__(self, allocator, workload, **options):
        self.what = {"allocator": allocator, "workload": workload, **options}
        command = shlex.split(args.worker) + [allocator, workload, "--wait"]
        for name, value in options.items():
            command += [f"--{name}", str(value)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def result(self, **more):
        """Lets it go on; what it says is also appended to the results. One that the end of the time has cut off is no turn."""
        begin = time.time()
        try:
            out, err = self.process.communicate("go\n", timeout=max(1, min(PATIENCE_S, seconds_left() + args.grace)))
        except subprocess.TimeoutExpired:
            self.process.kill()
            out, err = self.process.communicate()
            if seconds_left() < 0:
                return {**self.what, "cut": "the time is over"}
            err += f"\nkilled after {PATIENCE_S} s"
        lines = [line for line in out.splitlines() if line.startswith("{")]
        result = json.loads(lines[-1]) if lines else {**self.what, "failed": err[-3000:]}
        result |= {**more, "wall": round(time.time() - begin, 2)}
        with open(args.results, "a") as f:
            f.write(json.dumps(result) + "\n")
        return result


def in_turn(jobs):
    """The results of (allocator, workload, options, more), the next one being started ahead."""
    ahead = None
    for i, (allocator, workload, options, more) in enumerate(jobs):
        run = ahead or Run(allocator, workload, **options)
        ahead = Run(*jobs[i + 1][:2], **jobs[i + 1][2]) if i + 1 < len(jobs) else None
        yield run.result(**more)


def earlier():
    try:
        with open(args.results) as f:
            return [json.loads(line) for line in f if line.strip()]
    except FileNotFoundError:
        return []


# ---- the parts ---------------------------------------------------------------------------------------


def check():
    losses = {}
    for result in in_turn([(a, "small", {"steps": 3}, {"check": True}) for a in ALLOCATORS]):
        if "losses" not in result:
            print(f"the check failed with {result['allocator']}:\n{result.get('failed') or result}", file=sys.stderr)
            return False
        losses[result["allocator"]] = result["losses"]
    if losses["xseg"] != losses["native"]:
        print(f"check: losses differ already: {losses}", flush=True)
    return True


def turn(workload, number):
    """Both ends of the order are had as often by native as by xseg."""
    order = ALLOCATORS if number % 2 == 0 else ALLOCATORS[::-1]
    return [(allocator, workload, {}, {"turn": number}) for allocator in order]


def times(names, until):
    runs = collections.Counter((r["workload"], r["allocator"]) for r in earlier() if "turn" in r)
    done, cost = {name: min(runs[name, a] for a in ALLOCATORS) for name in names}, {}
    open_names = [name for name in names if done[name] < args.repeat]
    while open_names:
        name = min(open_names, key=lambda n: done[n])
        if cost.get(name, FIRST_GUESS_S) > until():
            left_out.append(f"{name}: {done[name]} of {args.repeat} turns")
            open_names.remove(name)
            continue
        begin = time.time()
        results = list(in_turn(turn(name, done[name])))
        cost[name] = time.time() - begin
        if any("cut" in r for r in results):
            left_out.append(f"{name}: {done[name]} of {args.repeat} turns")
            open_names.remove(name)
            continue
        done[name] += 1
        print(f"{name} {done[name]}: " + ", ".join(brief(r) for r in results), flush=True)
        if done[name] == args.repeat or any("skipped" in r or "failed" in r for r in results):
            open_names.remove(name)


def brief(result):
    for why in ("skipped", "failed", "out_of_memory"):
        if why in result:
            return f"{result['allocator']} {why}: {result[why].strip()[-160:]}"
    ms = sorted(result["ms"])
    return f"{result['allocator']} {ms[len(ms) // 2]:.2f} ms"


def smallest_limit(allocator, workload, plain):
    """Between what is requested at once and what is reserved without a limit, to a thousandth."""
    low, high = int(plain["requested"] * 0.995 / MiB), -(-plain["reserved"] // MiB)
    while high - low > max(2, low // 1000):
        if seconds_left() < 2 * plain["wall"] + 10:
            left_out.append(f"limit of {workload} with {allocator}: only to be between {low} and {high} MiB")
            return
        limit = (low + high) // 2
        result = Run(allocator, workload, limit=limit).result(probe=True)
        if "cut" not in result:  # else there is no time left, and that is said
            low, high = (low, limit) if "losses" in result else (limit, high)


def limits(names):
    plain = {(r["allocator"], r["workload"]): r for r in earlier() if "turn" in r and "losses" in r}
    for name in names:
        for allocator in ("expandable", "xseg"):
            if (allocator, name) not in plain or seconds_left() < 30:
                left_out.append(f"limit of {name} with {allocator}")
            else:
                smallest_limit(allocator, name, plain[allocator, name])


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
    kept = args.soak * 60 + (0.4 * max(0, seconds_left() - args.soak * 60) if args.limits else 0)
    times(names, lambda: seconds_left() - kept)
    if args.limits:
        end_of_soak = args.soak * 60
        global end
        end -= end_of_soak
        limits([n for n in names if n not in WITHOUT_LIMIT])
        end += end_of_soak
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
