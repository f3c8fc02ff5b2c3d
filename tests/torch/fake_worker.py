"""Stands in for pytorch_workload.py where there is no GPU: figures of its own making, of the same form.

FAKE_SLOWER: by how much a step is slower with xseg. FAKE_BROKEN: an allocator that fails. FAKE_SKIPPED: a workload that is; FAKE_SLOW: one
that takes a minute. FAKE_SOAK: why the soak fails, once it has run.
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

if "soak" in options:
    for i in range(10):
        print(json.dumps({"allocator": allocator, "soak": float(options["soak"]), "tenth": i, "reserved": 100 * MiB}), flush=True)
    sys.exit(os.environ.get("FAKE_SOAK"))
workload = arguments[1]
print("ready", flush=True)
sys.stdin.readline()
if workload == os.environ.get("FAKE_SLOW"):
    time.sleep(60)
if os.environ.get("FAKE_BROKEN") == allocator:
    sys.exit("no luck today")
limit = float(options.get("limit", 0))
result = {"allocator": allocator, "on": "nothing", "workload": workload, "limit": limit}
if workload == os.environ.get("FAKE_SKIPPED"):
    result["skipped"] = "No module named 'torchvision'"
elif limit and limit * MiB < NEEDS * REQUESTED:
    result["out_of_memory"] = "CUDA out of memory."
else:
    steady = {"num_device_alloc": 4, "num_alloc_retries": 0, "allocations": 100, "cache_hits": 90, "driver_wall_ns": 8000000,
              "rung_map": 2, "rung_create": 2, "rung_wait": 0}
    slower = 1 + float(os.environ.get("FAKE_SLOWER", 0)) * (allocator == "xseg")
    result |= {"losses": [(1.5).hex()] * 4, "requested": REQUESTED, "reserved": int(REQUESTED * NEEDS), "host_ms": 3.0,
               "ms": [10.0 * slower, 30.0 * slower, 20.0 * slower], "seconds": 0.1, "warm_up": steady, "steady": steady}
print(json.dumps(result), flush=True)
