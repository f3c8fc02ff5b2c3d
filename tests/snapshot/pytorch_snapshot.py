"""Snapshots in the shape of torch.cuda.memory._dump_snapshot(), PyTorch 2.11, of a small made-up training.

Every key that PyTorch writes is there, in its order. A frame that several blocks and events have is one object, in lists of
their own, as PyTorch's are; so pickle refers back to it.
"""

MIB = 1 << 20
T0 = 1_700_000_000_000_000  # microseconds
NO_FRAMES = []
VARIANTS = ("plain", "expandable", "pools", "history", "refused", "refused_before")


def frame(name, filename, line, **fx):
    return {"filename": filename, "name": name, "line": line, **fx}


PYTHON = [frame("forward", "/src/model.py", 41, fx_node_op="call_function", fx_node_target="aten.mm"),
          frame("train", "/src/train.py", 7), frame("<module>", "/src/train.py", 99)]
NATIVE = [frame("c10::cuda::CUDACachingAllocator::Native::NativeCachingAllocator::malloc(unsigned long)", "??", 0),
          frame("at::native::empty_cuda(c10::ArrayRef<long>)", "??", 0), *PYTHON]


def sums(blocks):
    active = [b for b in blocks if b["state"] != "inactive"]
    return {"allocated_size": sum(b["size"] for b in active if b["state"] == "active_allocated"),
            "active_size": sum(b["size"] for b in active),
            "requested_size": sum(b["requested_size"] for b in active)}


class Maker:
    def __init__(self, variant):
        self.expandable = variant in ("expandable", "history", "refused", "refused_before")
        self.history = variant not in ("plain", "expandable")
        self.frames = {"linear": NATIVE if self.history else NO_FRAMES,
                       "step": [frame("step", "/src/optim.py", 3), *PYTHON[1:]] if self.history else NO_FRAMES}
        self.segments, self.trace, self.time = [], [], T0

    def block(self, size, state="inactive", requested=None, frames=NO_FRAMES):
        return {"address": 0, "size": size, "requested_size": requested or (0 if state == "inactive" else size),
                "state": state, "frames": frames}

    def segment(self, device, address, blocks, stream=0, pool=(0, 0), small=False):
        at = address
        for b in blocks:
            b["address"] = at
            at += b["size"]
        self.segments.append({
            "device": device, "address": address, "total_size": at - address, **sums(blocks), "stream": stream, "segment_type": "small" if small else "large", "segment_pool_id": pool,
            "is_expandable": self.expandable, "frames": self.frames["linear"], "blocks": blocks})

    def event(self, action, address, size, stream=0, pool=(0, 0), frames="linear"):
        self.time += 10
        e = {"action": action, ("device_free" if action == "oom" else "addr"): address, "size": size,
             "stream": stream, "time_us": self.time, "compile_context": "0/0" if len(self.trace) % 3 else "N/A",
             "user_metadata": "step 3" if frames == "step" else "", "pool_id": pool}
        if self.history:
            e["frames"] = list(self.frames[frames])
        self.trace.append(e)


def training(m):
    base, stream = 0x7F0000000000, 94_532_101_337_600  # a handle, as an integer
    grow = "segment_map" if m.expandable else "segment_alloc"
    model = [m.block(20 * MIB, "active_allocated", 20 * MIB - 40, m.frames["linear"]) for _ in range(4)]
    pairs = [m.block(4 * MIB, "active_allocated", None, m.frames["step"]), m.block(2 * MIB)] * 3
    pairs = [dict(b) for b in pairs]
    m.segment(0, base, model + pairs)
    m.segment(0, base + (1 << 32), [m.block(512, "active_allocated", 4), m.block(2 * MIB - 512)], small=True)
    m.segment(0, base + (2 << 32), [m.block(6 * MIB, "active_pending_free", 6 * MIB - 1), m.block(14 * MIB)], stream)
    m.segment(1, base + (3 << 32), [m.block(2 * MIB)])
    if m.history:
        m.event(grow, base, m.segments[0]["total_size"])
        for b in m.segments[0]["blocks"]:
            if b["state"] == "active_allocated":
                m.event("alloc", b["address"], b["requested_size"], frames="step" if b["size"] == 4 * MIB else "linear")
        for _ in range(50):
            for action in "alloc", "free_requested", "free_completed":
                m.event(action, base + 84 * MIB, 2 * MIB, frames="step")


def graph_pools(m):
    for i in range(2):
        m.segment(0, 0x7E0000000000 + (i << 32), [m.block(32 * MIB), m.block(8 * MIB, "active_allocated")],
                  stream=77, pool=(0, 1 + i))
        m.event("segment_alloc", 0x7E0000000000 + (i << 32), 40 * MIB, 77, (0, 1 + i))


def snapshot(variant):
    m = Maker(variant)
    training(m)
    if variant == "pools":
        graph_pools(m)
    if variant.startswith("refused"):
        m.event("oom", 5 * MIB, 20 * MIB)
    if variant == "refused_before":
        m.event("free_requested", m.segments[0]["blocks"][4]["address"], 4 * MIB)
        m.event("free_completed", m.segments[0]["blocks"][4]["address"], 4 * MIB)
        m.segments[0]["blocks"][4].update(state="inactive", requested_size=0, frames=NO_FRAMES)
        m.segments[0].update(sums(m.segments[0]["blocks"]))
    if m.history:
        m.event("snapshot", 0, sum(s["active_size"] for s in m.segments))
    settings = {
        "PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True" if m.expandable else "", "max_split_size": -1,
        "garbage_collection_threshold": 0.0, "expandable_segments": m.expandable, "pinned_num_register_threads": 1,
        "release_lock_on_cudamalloc": False, "pinned_use_cuda_host_register": False,
        "graph_capture_record_stream_reuse": False,
        "roundup_power2_divisions": {str(1 << i): 0 for i in range(16)}}
    annotations = [{"name": "## forward ##", "stage": stage, "device": 0, "time_us": T0 + t}
                   for stage, t in (("START", 5), ("END", 900))] if m.history else []
    return {"segments": m.segments, "device_traces": [m.trace, [], []], "allocator_settings": settings,
            "external_annotations": annotations}
