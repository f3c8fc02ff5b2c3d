"""Stands in for pytorch_workload.py where there is no GPU: figures of its own making, of the same form.

FAKE_SLOWER: by how much a step is slower with xseg. FAKE_SKIPPED: a workload that is. FAKE_SOAK: why the soak fails, once it has run.
FAKE_DIES, FAKE_HANGS, FAKE_FULL: "WORKLOAD ALLOCATOR GROUP" of the run that breaks off in that group, or 0, its warm-up, or loading;
FULL is out of memory. FAKE_STUCK: "WORKLOAD ALLOCATOR LIMIT" of a run that hangs. FAKE_NAP: seconds for
all it does. FAKE_LOG: a file that says who did what, in what order.
"""
import json
import os
import sys
import time

arguments = sys.argv[1:]
allocator = arguments[0]
options = {arguments[i][2:]: arguments[i + 1] for i in range(1, len(arguments) - 1) if arguments[i].startswith("--")}
MiB = 1 << 20
REQUESTED = 10000 * MiB
NEEDS = {"native": 1.5, "expandable": 1.012, "xseg": 1.004}[allocator]  # times as much as is requested
TAKES = {"native": 1.5, "expandable": 1.05, "xseg": 1.025}[allocator]  # without a limit

if "soak" in options:
    for i in range(10):
        print(json.dumps({"allocator": allocator, "soak": float(options["soak"]), "tenth": i, "reserved": 100 * MiB, "freed": 90 * MiB,
                          "steps": 7, "counters": {"allocations": 70}}), flush=True)
    sys.exit(os.environ.get("FAKE_SOAK"))
workload = arguments[1]
limit = float(options.get("limit", 0))
result = {"allocator": allocator, "on": "nothing", "workload": workload, "limit": limit}


def note(what):
    if "FAKE_LOG" in os.environ:
        with open(os.environ["FAKE_LOG"], "a") as f:
            f.write(f"{workload} {allocator} {what}\n")


def does(what):
    note(what)
    ill = {name for name in ("FAKE_DIES", "FAKE_HANGS", "FAKE_FULL") if os.environ.get(name) == f"{workload} {allocator} {what}"}
    if "FAKE_DIES" in ill:
        sys.exit("no luck today")
    if "FAKE_HANGS" in ill:
        time.sleep(60)
    time.sleep(float(os.environ.get("FAKE_NAP", 0)))
    if "FAKE_FULL" in ill or what == 0 and limit and limit * MiB < NEEDS * REQUESTED:
        note("full")
        tell(out_of_memory="CUDA out of memory.")


def goes_on():
    print("waits", flush=True)
    return sys.stdin.readline() == "go\n"


def tell(**more):
    print(json.dumps({**result, **more}), flush=True)
    sys.exit(0)


does("loading")
if not goes_on():
    sys.exit(0)
if workload == os.environ.get("FAKE_SKIPPED"):
    tell(skipped="No module named 'torchvision'")
groups = 0
does(0)
if os.environ.get("FAKE_STUCK") == f"{workload} {allocator} {limit:.0f}":
    time.sleep(60)
while goes_on():
    does(groups := groups + 1)
does("ending")
steady = {"num_device_alloc": 4, "num_alloc_retries": 0, "allocations": 100, "cache_hits": 90, "driver_wall_ns": 8000000, "rung_map": 2,
          "rung_create": 2, "rung_wait": 0}
slower = 1 + float(os.environ.get("FAKE_SLOWER", 0)) * (allocator == "xseg")
tell(losses=[(1.5).hex()] * 4, requested=REQUESTED, reserved=int(REQUESTED * TAKES), steps=3, host_ms=3.0,
     ms=[(10 + i) * slower for i in range(groups)], steady=steady, cores=sorted(os.sched_getaffinity(0)))
