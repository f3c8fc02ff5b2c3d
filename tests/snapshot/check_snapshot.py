"""What Python's pickle module reads of a snapshot is what is true, and what memory_viz does with it works.

check_snapshot.py FOLDER: end.pickle, end.json, truth.txt and busy-*.pickle, as snapshot_script leaves them.
"""

import glob
import json
import pickle
import sys

STATES = {"active_allocated", "active_pending_free", "inactive"}
TAGS = ["step.embed", "step.layer0", "step.layer1", 'step.head "quoted" \ufffd']


class Plain(pickle.Unpickler):
    """Nothing but data may be in it."""

    def find_class(self, module, name):
        raise AssertionError(f"a snapshot wants {module}.{name}")


def load(path):
    with open(path, "rb") as file:
        return Plain(file).load()


def check_layout(snapshot):
    """Blocks tile their segment: the viewer adds sizes up. Returns the active blocks by address."""
    active, last_end = {}, 0
    for segment in snapshot["segments"]:
        assert segment["device"] == 0 and segment["segment_pool_id"] == (0, 0)
        assert segment["address"] >= last_end, "segments are in order and do not touch one another twice"
        address = segment["address"]
        for block in segment["blocks"]:
            assert block["address"] == address and block["size"] > 0 and block["state"] in STATES
            address += block["size"]
            if block["state"] != "inactive":
                assert 0 < block["requested_size"] <= block["size"]
                active[block["address"]] = block
        assert address == segment["address"] + segment["total_size"]
        last_end = address
        live = [b for b in segment["blocks"] if b["state"] == "active_allocated"]
        both = [b for b in segment["blocks"] if b["state"] != "inactive"]
        assert segment["allocated_size"] == sum(b["size"] for b in live)
        assert segment["active_size"] == sum(b["size"] for b in both)
        assert segment["requested_size"] == sum(b["requested_size"] for b in both)
    return active


def take(runs, address, size):
    """Cuts a range out of the mapped runs, in one of which it lies whole."""
    for start, end in list(runs.items()):
        if start <= address and address + size <= end:
            del runs[start]
            if start < address:
                runs[start] = address
            if address + size < end:
                runs[address + size] = end
            return
    raise AssertionError(f"{address:#x}, {size} bytes: not mapped")


def put(runs, address, size):
    end = address + size
    for start, stop in runs.items():
        assert end <= start or address >= stop, f"{address:#x}: mapped twice"
    if end in runs:
        end = runs.pop(end)
    for start, stop in list(runs.items()):
        if stop == address:
            runs[start] = end
            return
    runs[address] = end


def replay_backwards(snapshot):
    """As the viewer does: from the final state to the first event. Returns what was active then."""
    active = {a: b["requested_size"] for a, b in check_layout(snapshot).items()}
    runs = {s["address"]: s["address"] + s["total_size"] for s in snapshot["segments"]}
    for start in sorted(runs):  # neighbouring runs of one mapping are one to the viewer
        if start in runs:
            end = runs.pop(start)
            put(runs, start, end - start)
    waiting = {a for a, b in check_layout(snapshot).items() if b["state"] == "active_pending_free"}
    last_time = float("inf")
    for event in reversed(snapshot["device_traces"][0]):
        assert event["time_us"] <= last_time
        last_time = event["time_us"]
        action, address, size = event["action"], event.get("addr"), event["size"]
        if action == "alloc":
            assert active.pop(address) == size, hex(address)
            assert address not in waiting
        elif action == "free_completed":
            assert address not in active, hex(address)
            active[address] = size
            waiting.add(address)
        elif action == "free_requested":
            assert active[address] == size
            waiting.remove(address)
        elif action in ("segment_map", "segment_alloc"):
            take(runs, address, size)
        elif action in ("segment_unmap", "segment_free"):
            put(runs, address, size)
        else:
            raise AssertionError(action)
    return active, runs


def timeless(value):
    """The two files were written at two moments."""
    if isinstance(value, list):
        return [timeless(v) for v in value]
    if isinstance(value, dict):
        return {k: timeless(v) for k, v in value.items() if k not in ("age_ms", "time_us")}
    return value


def check_end(folder):
    snapshot, truth = load(f"{folder}/end.pickle"), {"live": {}}
    with open(f"{folder}/truth.txt") as file:
        for line in file:
            word, *numbers = line.split()
            if word == "live":
                truth["live"][int(numbers[0])] = [int(n) for n in numbers[1:]]
            else:
                truth[word] = int(numbers[0])
    active = check_layout(snapshot)
    assert active.keys() == truth["live"].keys()
    for address, (requested, allocated, tag) in truth["live"].items():
        block = active[address]
        assert (block["requested_size"], block["size"]) == (requested, allocated)
        assert block["user_metadata"] == TAGS[tag], block["user_metadata"]
    own = snapshot["xseg"]["devices"][0]
    for name in ("reserved", "allocated", "active"):
        assert own["stats"][f"{name}_bytes"] == truth[name]
    idle = sum(size for address, size in own["extents"] if address == 0)
    assert sum(s["total_size"] for s in snapshot["segments"]) + idle == truth["reserved"]
    if any(s["is_expandable"] for s in snapshot["segments"]):
        assert sum(size for _, size in own["extents"]) == truth["reserved"]
    last = [e for e in snapshot["device_traces"][0] if e["action"] == "alloc"][-1]
    assert last["size"] == truth["live"][last["addr"]][0]
    assert last["user_metadata"] in TAGS
    active, runs = replay_backwards(snapshot)
    if own["complete"]:
        assert not active and not runs
    with open(f"{folder}/end.json") as file:
        text = json.load(file)
    for key in ("segments", "device_traces"):
        assert timeless(text[key]) == timeless(json.loads(json.dumps(snapshot[key])))
    return own["complete"]


def main(folder):
    complete = check_end(folder)
    busy = sorted(glob.glob(f"{folder}/busy-*.pickle"))
    assert len(busy) in (0, 4)
    events = 0
    for path in busy:
        snapshot = load(path)
        replay_backwards(snapshot)
        events += len(snapshot["device_traces"][0])
    print(f"complete: {complete}, events beside threads: {events}")
    return complete


if __name__ == "__main__":
    main(sys.argv[1])
