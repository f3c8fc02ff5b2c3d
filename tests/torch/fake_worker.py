"""Stands in for pytorch_workload.py where there is no GPU: figures of its own making, of the same form.

FAKE_SLOWER: by how much a step is slower with xseg. FAKE_SKIPPED: a workload that is. FAKE_SOAK: why the soak fails, once it has run.
FAKE_DIES, FAKE_HANGS, FAKE_FULL: "WORKLOAD ALLOCATOR GROUP" of the run that breaks off in that group, or 0, its warm-up, or loading;
FULL is out of memory. FAKE_LOG: a file that says who did what, in what order.
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
NEEDS = {"native": 1.5, "expandable": 1.05, "xseg": 1.004}[allocator]
GROUPS = 12

if "soak" in options:
    for i in range(10):
        print(json.dumps({"allocator": allocator, "soak": float(options["soak"]), "tenth": i, "reserved": 100 * MiB, "freed": 90 * MiB,
                          "steps": 7, "counters": {"allocations": 70}}), flush=True)
    sys.exit(os.environ.get("FAKE_SOAK"))
workload = arguments[1]
limit = float(options.get("limit", 0))
result = {"allocator": allocator, "on": "nothing", "workload": workload, "limit": limit}


def does(what):
    if "FAKE_LOG" in os.environ:
        with open(os.environ["FAKE_LOG"], "a") as f:
            f.write(f"{workload} {allocator} {what}\n")
    ill = {name for name in ("FAKE_DIES", "FAKE_HANGS", "FAKE_FULL") if os.environ.get(name) == f"{workload} {allocator} {what}"}
    if "FAKE_DIES" in ill:
        sys.exit("no luck today")
    if "FAKE_HANGS" in ill:
        time.sleep(60)
    if "FAKE_FULL" in ill or what == 0 and limit and limit * MiB < NEEDS * REQUESTED:
        tell(out_of_memory="CUDA out of memory.")


def wait():
    print("waits", flush=True)
    if not sys.stdin.readline():
        sys.exit(0)


def tell(**more):
    print(json.dumps({**result, **more}), flush=True)
    sys.exit(0)


does("loading")
wait()
if workload == os.environ.get("FAKE_SKIPPED"):
    tell(skipped="No module named 'torchvision'")
for i in range(GROUPS + 1):
    if i:
        wait()
    does(i)
wait()
does("ending")
steady = {"num_device_alloc": 4, "num_alloc_retries": 0, "allocations": 100, "cache_hits": 90, "driver_wall_ns": 8000000, "rung_map": 2,
          "rung_create": 2, "rung_wait": 0}
slower = 1 + float(os.environ.get("FAKE_SLOWER", 0)) * (allocator == "xseg")
tell(losses=[(1.5).hex()] * 4, requested=REQUESTED, reserved=int(REQUESTED * NEEDS), steps=3, host_ms=3.0, seconds=0.1,
     ms=[(10 + i) * slower for i in range(GROUPS)], warm_up=steady, steady=steady)
