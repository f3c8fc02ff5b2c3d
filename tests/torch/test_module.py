"""xseg_torch.py with a stand-in for torch: that what it sets and replaces works together. What PyTorch makes of it is
shown on a GPU (tests/gpu/pytorch.sh).
    test_module.py LIBRARY SIMULATOR
"""
import ctypes
import os
import sys
import threading
import types
import warnings

LIBRARY, SIMULATOR = sys.argv[1:3]
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "src", "api"))
sys.dont_write_bytecode = True

void_p, size_t, c_int = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int


class PoolId(ctypes.Structure):
    _fields_ = [("first", ctypes.c_uint64), ("second", ctypes.c_uint64)]


class Hooks:
    """torch._C._cuda_CUDAAllocator: functions by address."""

    types = {
        "init_fn": ctypes.CFUNCTYPE(None, c_int),
        "reset_fn": ctypes.CFUNCTYPE(None),
        "memory_fraction_fn": ctypes.CFUNCTYPE(None, ctypes.c_double, c_int),
        "base_alloc_fn": ctypes.CFUNCTYPE(void_p, void_p, ctypes.POINTER(size_t)),
        "record_stream_fn": ctypes.CFUNCTYPE(None, void_p, void_p),
        "begin_allocate_to_pool": ctypes.CFUNCTYPE(None, c_int, PoolId, void_p),
        "end_allocate_to_pool_fn": ctypes.CFUNCTYPE(None, c_int, PoolId),
        "release_pool": ctypes.CFUNCTYPE(None, c_int, PoolId),
    }

    def __init__(self, alloc, free):
        self.alloc = ctypes.CFUNCTYPE(void_p, size_t, c_int, void_p)(alloc)
        self.free = ctypes.CFUNCTYPE(None, void_p, size_t, c_int, void_p)(free)

    def __getattr__(self, name):
        kind = name[4:] if name.startswith("set_") else ""
        if kind not in Hooks.types:
            raise AttributeError(name)
        return lambda address: setattr(self, kind, Hooks.types[kind](address))


class CUDAPluggableAllocator:
    def __init__(self, path, alloc, free):
        library = ctypes.CDLL(path)
        address = lambda name: ctypes.cast(getattr(library, name), void_p).value
        self._allocator = Hooks(address(alloc), address(free))

    def allocator(self):
        return self._allocator


class CUDAGraph:
    ends_well = False

    def capture_begin(self, *_):
        current["hooks"].begin_allocate_to_pool(0, PoolId(5, 0), None)

    def capture_end(self):
        if not self.ends_well:
            raise RuntimeError("capture failed")
        current["hooks"].end_allocate_to_pool_fn(0, PoolId(5, 0))


current = {}
handles = iter(range(1, 100))


# Of torch._C, as PyTorch 2.11 has them.
REPLACED = ("_cuda_memoryStats", "_cuda_resetPeakMemoryStats", "_cuda_resetAccumulatedMemoryStats", "_cuda_getMemoryFraction",
            "_cuda_memorySnapshot", "_cuda_record_memory_history", "_cuda_record_memory_history_legacy",
            "_accelerator_getDeviceStats", "_accelerator_resetPeakStats", "_accelerator_resetAccumulatedStats")


def stand_in():
    torch = types.ModuleType("torch")
    torch._C = types.SimpleNamespace(
        _graph_pool_handle=lambda: (0, next(handles)), **dict.fromkeys(REPLACED))
    torch.OutOfMemoryError = type("OutOfMemoryError", (RuntimeError,), {})
    memory = types.SimpleNamespace(
        CUDAPluggableAllocator=CUDAPluggableAllocator,
        change_current_allocator=lambda a: current.update(hooks=a.allocator()),
        MemPool=None, use_mem_pool=None, _get_device_index=lambda device, optional: device or 0)
    properties = types.SimpleNamespace(total_memory=64 << 30)
    torch.cuda = types.SimpleNamespace(
        memory=memory, CUDAGraph=CUDAGraph, is_initialized=lambda: current.get("used", False), init=lambda: None,
        current_device=lambda: 0, get_device_properties=lambda d: properties,
        use_mem_pool=None, MemPool=lambda allocator, **options: types.SimpleNamespace(allocator=allocator, options=options))
    return torch


torch = sys.modules["torch"] = stand_in()
import xseg_torch  # noqa: E402

lib = xseg_torch._load(LIBRARY)
assert lib.xseg_use_driver_library(SIMULATOR.encode()) == 0


def refused(call, kind, text):
    try:
        call()
    except kind as e:
        assert text in str(e), e
        return
    raise AssertionError(f"not refused: {text}")


def pool_of(p):
    name = ctypes.c_uint64()
    assert lib.xseg_pool_of(void_p(p), ctypes.byref(name)) == 0
    return name.value


def alone():
    """pool() without install(): segments for PyTorch's own allocator."""
    p = xseg_torch.pool(no_split=True)
    assert p.options == {"no_split": True}
    segment = p.allocator.alloc(20 << 20, 0, None)
    assert segment
    p.allocator.free(segment, 20 << 20, 0, None)
    free, total = size_t(), size_t()
    assert lib.xseg_memory_info(0, ctypes.byref(free), ctypes.byref(total)) == 0
    assert free.value == total.value  # it went back


def installed():
    current["used"] = True
    refused(xseg_torch.install, RuntimeError, "before the first use of CUDA")
    current["used"] = False
    refused(lambda: xseg_torch.install("max_split_size_mb:1"), RuntimeError, "max_split_size_mb:1")
    assert not xseg_torch.is_installed()
    xseg_torch.install("memory_limit:32G")
    assert xseg_torch.is_installed() and set(Hooks.types) <= set(vars(current["hooks"]))
    current["hooks"].init_fn(1)
    assert abs(torch._C._cuda_getMemoryFraction(0) - 0.5) < 1e-9
    current["hooks"].memory_fraction_fn(1.0, 0)
    assert torch._C._cuda_getMemoryFraction(0) == 1.0


def pools():
    hooks = current["hooks"]
    pool = torch.cuda.MemPool()
    with torch.cuda.use_mem_pool(pool):
        p = hooks.alloc(1 << 20, 0, None)
        assert pool.use_count() == 2
    q = hooks.alloc(1 << 20, 0, None)
    assert pool_of(p) and not pool_of(q) and pool.use_count() == 1
    snapshot = {"segments": [{"segment_pool_id": (0, pool_of(p))}, {"segment_pool_id": (0, 0)},
                             {"segment_pool_id": (0, 1)}],
                "device_traces": [[{"pool_id": (0, pool_of(p))}, {"pool_id": (0, 0)}]]}
    xseg_torch._name_pools(snapshot)
    assert [s["segment_pool_id"] for s in snapshot["segments"]] == [pool.id, (0, 0), (0, 1)]
    assert [e["pool_id"] for e in snapshot["device_traces"][0]] == [pool.id, (0, 0)]
    hooks.begin_allocate_to_pool(0, PoolId(*pool.id), None)  # a graph in the same pool
    r = hooks.alloc(1 << 20, 0, None)
    assert pool_of(r) == pool_of(p)
    hooks.end_allocate_to_pool_fn(0, PoolId(*pool.id))
    hooks.release_pool(0, PoolId(*pool.id))
    assert pool_of(p)
    del pool
    assert not pool_of(p)
    for each in (p, q, r):
        hooks.free(each, 1 << 20, 0, None)
    refused(lambda: torch.cuda.MemPool(object()), NotImplementedError, "takes no allocator")


def captures():  # report R50
    hooks = current["hooks"]
    graph = torch.cuda.CUDAGraph()
    graph.capture_begin()
    p = hooks.alloc(1 << 20, 0, None)
    assert pool_of(p)
    refused(graph.capture_end, RuntimeError, "capture failed")
    assert not pool_of(p) and lib.xseg_torch_capture_failed() == 0
    hooks.free(p, 1 << 20, 0, None)
    graph.ends_well = True
    graph.capture_begin()
    graph.capture_end()
    hooks.release_pool(0, PoolId(5, 0))


def statistics():
    hooks = current["hooks"]
    p = hooks.alloc(3000, 0, None)
    torch._C._cuda_resetPeakMemoryStats(0)
    s = torch._C._cuda_memoryStats(0)
    assert s["requested_bytes"]["all"]["current"] == s["requested_bytes"]["all"]["peak"] == 3000
    assert s["allocated_bytes"]["all"]["current"] == xseg_torch.stats(0)["allocated_bytes"]["current"] == 3072
    assert all(isinstance(v, int) for v in s["reserved_bytes"]["all"].values())
    assert "reserved" in xseg_torch.report(0)
    hooks.free(p, 3000, 0, None)


def allocate_here(hooks):
    return hooks.alloc(5000, 0, None)


def stacks():
    """Whose stack is at which address; in a snapshot once xseg writes one."""
    hooks = current["hooks"]
    seen = xseg_torch._Stacks(2)
    xseg_torch._observe(seen)
    p = allocate_here(hooks)
    xseg_torch._observe(None)
    hooks.free(p, 5000, 0, None)
    (stack,) = seen.copy()[p]
    assert [f["name"] for f in xseg_torch._frames(stack)][:2] == ["allocate_here", "stacks"]
    for address in (1, 1, 2):
        seen.add(address, [])
    assert {a: len(s) for a, s in seen.copy().items()} == {1: 1, 2: 1}  # at most two, the latest
    snapshot = {"segments": [{"blocks": [{"address": 1, "state": "active_allocated"}]}],
                "device_traces": [[{"action": "alloc", "addr": 1}, {"action": "free_completed", "addr": 1},
                                   {"action": "alloc", "addr": 1}]]}
    code = allocate_here.__code__
    xseg_torch._add_stacks(snapshot, {1: [[(code, 1)], [(code, 2)]]})
    assert [e.get("frames", [{}])[0].get("line") for e in snapshot["device_traces"][0]] == [1, None, 2]
    assert snapshot["segments"][0]["blocks"][0]["frames"][0]["line"] == 2


def history():
    refused(lambda: torch._C._cuda_record_memory_history("some"), RuntimeError, "expected state")
    refused(lambda: torch._C._cuda_record_memory_history("all", "some"), RuntimeError, "expected context")
    refused(lambda: torch._C._cuda_record_memory_history("all", "all", "some"), RuntimeError, "expected stacks")
    hooks = current["hooks"]
    torch._C._cuda_record_memory_history("all", "all", "python", 1000)
    p = allocate_here(hooks)
    snapshot = torch._C._cuda_memorySnapshot(None)
    blocks = [b for s in snapshot["segments"] for b in s["blocks"] if b["address"] == p]
    assert blocks[0]["requested_size"] == 5000 and blocks[0]["frames"][0]["name"] == "allocate_here"
    allocs = [e for e in snapshot["device_traces"][0] if e["action"] == "alloc"]
    assert allocs[-1]["size"] == 5000 and allocs[-1]["frames"][0]["name"] == "allocate_here"
    hooks.free(p, 5000, 0, None)
    torch._C._cuda_record_memory_history(None)


def events_name_their_pool():
    """What is done in a pool says so in the history, hit or not, also once the pool is gone."""
    hooks = current["hooks"]
    torch._C._cuda_record_memory_history("all", None, "python", 1000)
    pool = torch.cuda.MemPool()
    with torch.cuda.use_mem_pool(pool):
        for _ in range(3):  # growth, then hits
            p = hooks.alloc(1 << 20, 0, None)
            hooks.free(p, 1 << 20, 0, None)
    q = hooks.alloc(1 << 20, 0, None)
    snapshot = torch._C._cuda_memorySnapshot((*pool.id, True))
    events = [(e["action"], e["pool_id"]) for e in snapshot["device_traces"][0]
              if e.get("addr") == p and e["action"] in ("alloc", "free_completed")]
    assert events == [("alloc", pool.id), ("free_completed", pool.id)] * 3, events
    mapped = {e["pool_id"] for e in snapshot["device_traces"][0]
              if e["action"] == "segment_map" and e["addr"] <= p < e["addr"] + e["size"]}
    assert mapped == {pool.id}, mapped
    assert {e["pool_id"] for e in snapshot["device_traces"][0] if e.get("addr") == q} == {(0, 0)}
    assert all(s["segment_pool_id"] == pool.id for s in snapshot["segments"]) and snapshot["segments"]
    assert torch._C._cuda_memorySnapshot((0, 0, False))["device_traces"] == [[]]
    name = pool._names[0]
    del pool
    gone = torch._C._cuda_memorySnapshot(None)["device_traces"][0]
    assert {e["pool_id"] for e in gone if e.get("addr") == p and e["action"] == "alloc"} == {(0, name)}
    hooks.free(q, 1 << 20, 0, None)
    torch._C._cuda_record_memory_history(None)


def history_beside_threads():  # report R98: the observer takes the interpreter's lock, with no lock of xseg's held
    hooks = current["hooks"]
    torch._C._cuda_record_memory_history("all", "all", "python", 10000)

    def churn():
        for i in range(300):
            n = 512 * (1 + i % 40)
            hooks.free(hooks.alloc(n, i % 2, None), n, i % 2, None)

    workers = [threading.Thread(target=churn) for _ in range(4)]
    for w in workers:
        w.start()
    while any(w.is_alive() for w in workers):
        torch._C._cuda_memoryStats(0)
        torch._C._cuda_memorySnapshot((0, 0, False))
        hooks.reset_fn()
    for w in workers:
        w.join()
    assert torch._C._cuda_memoryStats(1)["allocation"]["all"]["current"] == 0
    torch._C._cuda_record_memory_history(None)


def devices():  # reports R87 and R104
    hooks = current["hooks"]
    p, q = hooks.alloc(3000, 0, None), hooks.alloc(7000, 1, None)
    hooks.free(hooks.alloc(50000, 1, None), 50000, 1, None)
    before = [torch._C._cuda_memoryStats(d)["allocation"]["all"]["allocated"] for d in (0, 1)]
    torch._C._cuda_resetPeakMemoryStats(1)
    for device, requested in ((0, 3000), (1, 7000)):
        s = torch._C._cuda_memoryStats(device)
        assert s["requested_bytes"]["all"]["current"] == requested
        assert s["allocation"]["all"]["allocated"] == before[device]
    assert torch._C._cuda_memoryStats(1)["requested_bytes"]["all"]["peak"] == 7000
    torch._C._cuda_resetAccumulatedMemoryStats(1)
    assert torch._C._cuda_memoryStats(1)["allocation"]["all"]["allocated"] == 0
    assert torch._C._cuda_memoryStats(0)["allocation"]["all"]["allocated"] == before[0]
    hooks.free(p, 3000, 0, None)
    hooks.free(q, 7000, 1, None)


def other_versions():
    """A name that this PyTorch lacks is a warning; the rest is replaced."""
    torch._C._cuda_memoryStats = None
    graph = type("CUDAGraph", (), {"capture_begin": CUDAGraph.capture_begin})
    without = types.SimpleNamespace(_C=torch._C, cuda=types.SimpleNamespace(memory=torch.cuda.memory, CUDAGraph=graph))
    torch.cuda.memory.MemPool = None
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        xseg_torch._replace_all(without)
        xseg_torch._set_hooks(types.SimpleNamespace(set_reset_fn=lambda address: None))
    names = [str(w.message).split(" has no ")[1].split(":")[0] for w in told]
    assert "capture_end" in names and "MemPool" in names and "set_init_fn" in names and "set_reset_fn" not in names, names
    assert torch._C._cuda_memoryStats is xseg_torch._memory_stats
    assert torch.cuda.memory.MemPool is xseg_torch._MemPool


tests = (alone, installed, pools, captures, statistics, stacks, history, events_name_their_pool,
         history_beside_threads, devices, other_versions)
for test in tests:
    test()
print(f"{len(tests)} passed, 0 failed")
