"""check_pytorch.py XSEG: snapshots in PyTorch's shape, with each protocol of pickle that PyTorch can have used, read by
xseg diagnose and xseg report, and compared block by block with what they were made of."""

import base64
import json
import pickle
import re
import struct
import subprocess
import sys
import tempfile

import pytorch_snapshot as made

FRAMES = 32  # of a stack, that are kept
ACTIONS = ("alloc", "free_requested", "free_completed", "segment_alloc", "segment_free", "segment_map", "segment_unmap", "oom")
STATES = {"active_allocated": 0, "active_pending_free": 1, "inactive": 3}


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def page_of(xseg, path, folder):
    run(xseg, "report", path, "-o", folder + "/page.html")
    with open(folder + "/page.html", encoding="utf-8") as file:
        return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', file.read(), re.S)[1])


def column(table, key, form):
    data = base64.b64decode(table[key])
    return list(struct.unpack(f"<{len(data) // struct.calcsize(form)}{form}", data))


def frames_of(device, stack):
    names, flat = device["names"], device["stacks"][stack] if stack else []
    return [(names[flat[i]], names[flat[i + 1]], flat[i + 2]) for i in range(0, len(flat), 3)]


def expected_frames(frames):
    return [(f["name"], f["filename"], f["line"]) for f in frames[:FRAMES]]


def count_events(trace):
    """A free that is completed at once is one; what does not concern memory is none."""
    kept = []
    for e in (e for e in trace if e["action"] in ACTIONS):
        if e["action"] == "free_completed" and kept and kept[-1]["action"] == "free_requested" and kept[-1]["addr"] == e["addr"]:
            kept[-1] = {"action": "free"}
        else:
            kept.append(e)
    return len(kept)


def check_page(data, snapshot):
    for device in data:
        segments = sorted((s for s in snapshot["segments"] if s["device"] == device["device"]), key=lambda s: s["address"])
        blocks = [(s, b) for s in segments for b in s["blocks"]]
        table = device["blocks"]
        got = list(zip(column(table, "va", "d"), column(table, "bytes", "d"), column(table, "requested", "d"),
                       column(table, "state", "I"), column(table, "stream", "d"), column(table, "stack", "I")))
        assert len(got) == len(blocks)
        for (va, size, requested, state, stream, stack), (s, b) in zip(got, blocks):
            assert (va, size, state, stream) == (b["address"], b["size"], STATES[b["state"]], s["stream"])
            if state < 3:
                assert requested == b["requested_size"]
                assert frames_of(device, stack) == expected_frames(b.get("frames", []))
        assert column(device["segments"], "va", "d") == [s["address"] for s in segments]
        trace = snapshot["device_traces"][device["device"]]
        assert device["events"] == count_events(trace)
        if trace:
            lives = device["lives"]
            allocs = [e for e in trace if e["action"] == "alloc"]
            old = set(column(lives, "old", "I"))  # lives of before the first event
            got = [x for i, x in enumerate(zip(column(lives, "va", "d"), column(lives, "bytes", "d"), column(lives, "stack", "I"),
                                               column(lives, "tag", "I"))) if i not in old]
            assert len(got) == len(allocs)
            for e, (va, size, stack, tag) in zip(allocs, got):
                assert (va, size) == (e["addr"], e["size"])
                assert frames_of(device, stack) == expected_frames(e.get("frames", []))
                assert device["names"][tag] == e.get("user_metadata", "")


def check_diagnosis(devices, snapshot, variant):
    for d in devices:
        segments = [s for s in snapshot["segments"] if s["device"] == d["device"]]
        pooled = sum(b["size"] for s in segments if s["segment_pool_id"] != (0, 0) for b in s["blocks"] if b["state"] == "inactive")
        assert d["reserved"] == sum(s["total_size"] for s in segments)
        assert d["live"] == sum(s["allocated_size"] for s in segments)
        assert d["waiting"] == sum(s["active_size"] - s["allocated_size"] for s in segments)
        assert d["held_free"] == pooled and (pooled > 0) == (variant == "pools" and d["device"] == 0)
    first = devices[0]
    if variant == "refused":
        assert first["verdict"] == "fragmentation" and first["request"]["requested"] == 20 * made.MIB
        assert first["device_free"] == 5 * made.MIB and not first["advice"]  # expandable_segments is on already
    elif variant == "refused_before":
        assert first["verdict"] == "none" and first["text"].startswith("A request of 20.00 MiB was refused, but more has happened since (1 events)")
    else:
        assert first["verdict"] == "none" and first["text"] == "No request was refused."


def check(xseg, variant, folder):
    snapshot, outputs = made.snapshot(variant), set()
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        path = f"{folder}/{variant}.pickle"
        with open(path, "wb") as file:
            pickle.dump(snapshot, file, protocol)
        diagnosis, page = run(xseg, "diagnose", path, "--json"), page_of(xseg, path, folder)
        check_diagnosis(json.loads(diagnosis), snapshot, variant)
        check_page(page, snapshot)
        outputs.add((diagnosis, json.dumps(page)))
    assert len(outputs) == 1  # however it was written


def check_odd_numbers(xseg, folder):
    """A number that 64 bits do not hold, where nothing looks, does no harm."""
    snapshot = made.snapshot("history")
    for number in 0, -1, 255, 256, 65536, -(1 << 31), 1 << 63, (1 << 64) - 1, 1 << 64, -(1 << 70), 1 << 2000:
        snapshot["allocator_settings"]["max_split_size"] = number
        with open(folder + "/odd.pickle", "wb") as file:
            pickle.dump(snapshot, file)
        run(xseg, "diagnose", folder + "/odd.pickle")


def main(xseg):
    with tempfile.TemporaryDirectory() as folder:
        for variant in made.VARIANTS:
            check(xseg, variant, folder)
        check_odd_numbers(xseg, folder)
    print(f"{len(made.VARIANTS) + 1} passed, 0 failed")


if __name__ == "__main__":
    main(sys.argv[1])
