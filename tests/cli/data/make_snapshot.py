"""make_snapshot.py FILE PROTOCOL [pools]

Writes pytorch.pickle: a snapshot in the layout of torch.cuda.memory._dump_snapshot(), small and made up.

Two devices; on the first a model of 10 blocks, activations in the middle of a step, and an out-of-memory event.
With "pools" pools.pickle: a request that is refused beside two private pools of captured graphs.
"""

import pickle
import sys

MIB = 1 << 20
T0 = 1_700_000_000_000_000


def frames(*functions):
    return [{"name": f, "filename": "/src/train.py", "line": 10 + i} for i, f in enumerate(functions)]


def event(action, address, size, time_us, **more):
    return {"action": action, "addr": address, "size": size, "stream": 0, "time_us": T0 + time_us,
            "compile_context": "N/A", "user_metadata": "", "pool_id": (0, 0),
            "frames": frames("forward", "main"), **more}


def block(size, state="inactive", requested=0, where=()):
    return {"size": size, "requested_size": requested or size, "state": state, "frames": frames(*where)}


def segment(device, address, blocks, expandable=True, pool=(0, 0)):
    total = sum(b["size"] for b in blocks)
    active = [b for b in blocks if b["state"] == "active_allocated"]
    at = address
    for b in blocks:
        b["address"] = at
        at += b["size"]
    return {"device": device, "address": address, "total_size": total, "stream": 0, "segment_type": "large",
            "segment_pool_id": pool, "is_expandable": expandable, "frames": [], "blocks": blocks,
            "allocated_size": sum(b["size"] for b in active), "active_size": sum(b["size"] for b in active),
            "requested_size": sum(b["requested_size"] for b in active)}


def out_of_memory(size, free, time_us):
    oom = event("oom", 0, size, time_us)
    del oom["addr"]
    return {**oom, "device_free": free}


def pools():
    base = 0x7F0000000000
    kept = [block(64 * MIB, "active_allocated"), block(448 * MIB)]
    segments = [segment(0, base, [block(1024 * MIB, "active_allocated")])]
    segments += [segment(0, base + (i << 32), list(map(dict, kept)), pool=pool) for i, pool in enumerate(((3, 0), (0, 7)), 1)]
    return segments, [out_of_memory(600 * MIB, 100 * MIB, 2_100_000)]


def one_step():
    base, trace = 0x7F0000000000, []
    model = [block(64 * MIB, "active_allocated", 64 * MIB - 100, ("Linear.__init__", "main")) for _ in range(10)]
    step = []
    for i in range(40):
        step.append(block(32 * MIB, "active_allocated", 0, ("forward", "main")))
        step.append(block(16 * MIB))
    first = segment(0, base, model + step)
    for i in range(200):  # earlier steps
        for action, when in (("alloc", 0), ("free_requested", 5), ("free_completed", 5)):
            trace.append(event(action, first["blocks"][10]["address"], 32 * MIB, i * 10000 + when))
    for i in range(40):
        trace.append(event("alloc", first["blocks"][10 + 2 * i]["address"], 32 * MIB, 2_000_000 + i * 1000))
    trace.append(event("segment_map", base, first["total_size"], 2_050_000))
    trace.append(out_of_memory(512 * MIB, 100 * MIB, 2_100_000))
    return [first, segment(1, base + (1 << 40), [block(2 * MIB, "active_pending_free", 3)], False)], trace


def main(path, protocol, what="step"):
    segments, trace = pools() if what == "pools" else one_step()
    snapshot = {"segments": segments, "device_traces": [trace, []],
                "allocator_settings": {"PYTORCH_CUDA_ALLOC_CONF": "", "max_split_size": -1,
                                       "garbage_collection_threshold": 0.0, "expandable_segments": True,
                                       "roundup_power2_divisions": {"1": 0, "2": 0}},
                "external_annotations": []}
    with open(path, "wb") as file:
        pickle.dump(snapshot, file, protocol)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), *sys.argv[3:])
