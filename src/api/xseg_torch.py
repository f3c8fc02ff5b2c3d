"""xseg as PyTorch's allocator.

    import xseg_torch
    xseg_torch.install()        # before the first use of CUDA

puts all of PyTorch's device memory on xseg, and makes torch.cuda.memory_stats(), its peaks, snapshots, pools and graphs work
as usual. xseg_torch.pool() gives a torch.cuda.MemPool on xseg instead, and leaves the rest of PyTorch as it is.

What PyTorch has a hook for is set by it; what it has none for is replaced, in torch._C as a rule, so that every function above
gives true answers: see docs/pytorch.md for the list. Every call of the library lets go of Python's lock.
"""

import collections
import contextlib
import ctypes
import functools
import json
import os
import pickle
import sys
import tempfile
import threading
import warnings

import torch

__all__ = ["install", "is_installed", "pool", "configure", "empty_cache", "stats", "report"]

_FORMAT_TEXT, _FORMAT_JSON = 0, 1
_OUT_OF_MEMORY = 2
_USE_ON_OOM, _NO_SPLIT = 1, 2
_VIRTUAL_FUNCTIONS = 10  # XSEG_TORCH_FUNCTIONS

_lib = None
_path = None
_installed = None  # PyTorch's object, which has to live as long as the process
_segments = None  # likewise, of pool() without install()


class _PoolId(ctypes.Structure):
    _fields_ = [("first", ctypes.c_uint64), ("second", ctypes.c_uint64)]


_write_fn = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.POINTER(ctypes.c_char), ctypes.c_size_t)
_observe_fn = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)

_int, _u64, _size = ctypes.c_int, ctypes.c_uint64, ctypes.c_size_t
_out = ctypes.POINTER
_ARGUMENTS = {
    "xseg_configure": [ctypes.c_char_p],
    "xseg_empty_cache": [_int],
    "xseg_get_limit": [_int, _out(_size)],
    "xseg_reset_peaks": [_int],
    "xseg_reset_totals": [_int],
    "xseg_pool_begin": [_u64],
    "xseg_pool_end": [_u64],
    "xseg_stats_print": [_int, _int, _write_fn, ctypes.c_void_p],
    "xseg_snapshot": [ctypes.c_char_p],
    "xseg_torch_create_pool": [_int, _PoolId, ctypes.c_uint, _out(_u64)],
    "xseg_torch_release_pool": [_int, _PoolId],
    "xseg_torch_pool_id": [_u64, _out(_PoolId)],
    "xseg_torch_observe": [_observe_fn],
}


# ---- the library ---------------------------------------------------------------------------------


def _candidates():
    if "XSEG_LIBRARY" in os.environ:
        return [os.environ["XSEG_LIBRARY"]]
    beside, name = os.path.dirname(os.path.abspath(__file__)), "libxseg.so.0"
    # Installed: PREFIX/lib/xseg/python/xseg_torch.py and PREFIX/lib/libxseg.so.0.
    return [os.path.join(beside, name), os.path.join(beside, "..", "..", name), name]


def _load(library=None):
    global _lib, _path
    tried = []
    for path in [] if _lib else [library] if library else _candidates():
        try:
            _lib, _path = ctypes.CDLL(path, mode=ctypes.RTLD_LOCAL), path
            break
        except OSError as e:
            tried.append(str(e))
    if _lib is None:
        raise OSError("libxseg was not found (install(library=...) or XSEG_LIBRARY names it): " + "; ".join(tried))
    _lib.xseg_last_error.restype = ctypes.c_char_p
    for name, arguments in _ARGUMENTS.items():
        getattr(_lib, name).argtypes = arguments
    return _lib


def _call(name, *arguments):
    """A call whose failure is an exception with xseg's text."""
    code = getattr(_load(), name)(*arguments)
    if code:
        text = _lib.xseg_last_error().decode(errors="replace")
        raise (torch.OutOfMemoryError if code == _OUT_OF_MEMORY else RuntimeError)(f"{name}: {text}")


def configure(conf):
    """Applies a policy in the grammar of ALLOC_CONF over the present one; RuntimeError quotes what is wrong with it."""
    _call("xseg_configure", conf.encode())


def empty_cache():
    """Gives back to the driver what xseg holds and nobody uses. As torch.cuda.empty_cache() under install()."""
    _call("xseg_empty_cache", -1)


def _print(device, form):
    pieces = []
    write = _write_fn(lambda _, text, n: pieces.append(ctypes.string_at(text, n)))
    _call("xseg_stats_print", device, form, write, None)
    return b"".join(pieces).decode()


def report(device=0):
    """What xseg has to say of a device, for people."""
    return _print(device, _FORMAT_TEXT)


def stats(device=0):
    """All of xseg's statistics of a device, by the names of docs/statistics.md."""
    return json.loads(_print(device, _FORMAT_JSON))["xseg"]


# ---- statistics, as torch._C gives them ------------------------------------------------------------


def _nest(flat):
    nested = {}
    for key, value in flat.items():
        *path, last = key.split(".")
        at = nested
        for part in path:
            at = at.setdefault(part, {})
        if value is not None:
            at[last] = value
    return nested


def _memory_stats(device):
    flat = json.loads(_print(device, _FORMAT_JSON))
    own = flat.pop("xseg")
    return {**_nest(flat), "xseg": {name: value for name, value in own.items() if value is not None}}


def _reset_peaks(device):
    _call("xseg_reset_peaks", device)


def _reset_totals(device):
    _call("xseg_reset_totals", device)


def _get_memory_fraction(device):
    limit = ctypes.c_size_t()
    _call("xseg_get_limit", device, ctypes.byref(limit))
    total = torch.cuda.get_device_properties(device).total_memory
    return min(1.0, limit.value / total)


# ---- history and snapshots ---------------------------------------------------------------------------


class _Stacks:
    """Python's call stack at each allocation, by address; at most so many in all."""

    def __init__(self, most):
        self.most = most
        self.lock = threading.Lock()
        self.by_address = collections.defaultdict(collections.deque)
        self.order = collections.deque()

    def add(self, address, stack):
        with self.lock:
            self.by_address[address].append(stack)
            self.order.append(address)
            if len(self.order) > self.most:
                self._forget(self.order.popleft())

    def _forget(self, address):
        stacks = self.by_address[address]
        stacks.popleft()
        if not stacks:
            del self.by_address[address]

    def copy(self):
        with self.lock:
            return {address: list(stacks) for address, stacks in self.by_address.items()}


_stacks = None


@_observe_fn
def _observer(address, _bytes, _device):
    into, frame, stack = _stacks, sys._getframe().f_back, []
    if into is None:
        return
    while frame is not None:  # none on a thread of autograd's
        stack.append((frame.f_code, frame.f_lineno))
        frame = frame.f_back
    into.add(address, stack)


def _frames(stack):
    return [{"name": c.co_name, "filename": c.co_filename, "line": line} for c, line in stack]


def _add_stacks(snapshot, stacks):
    """The latest allocation at an address has the latest stack there, and so on backwards."""
    for segment in snapshot["segments"]:
        for block in segment["blocks"]:
            own = stacks.get(block["address"])
            if own and block["state"].startswith("active"):
                block["frames"] = _frames(own[-1]) + block.get("frames", [])
    for trace in snapshot["device_traces"]:
        for event in reversed(trace):
            own = stacks.get(event.get("addr"))
            if event["action"] == "alloc" and own:
                event["frames"] = _frames(own.pop()) + event.get("frames", [])


def _name_pools(snapshot):
    """PyTorch's ids in place of xseg's names of its pools, but for those that PyTorch does not know, or no more."""
    known = {}

    def theirs(ours):
        if ours not in known:
            pool = _PoolId()
            found = ours[1] and _lib.xseg_torch_pool_id(ours[1], ctypes.byref(pool))
            known[ours] = (pool.first, pool.second) if found else ours
        return known[ours]

    for segment in snapshot["segments"]:
        segment["segment_pool_id"] = theirs(tuple(segment["segment_pool_id"]))
    for trace in snapshot["device_traces"]:
        for event in trace:
            event["pool_id"] = theirs(tuple(event["pool_id"]))


def _memory_snapshot(which=None):
    """What torch._C._cuda_memorySnapshot() gives; which: None, or (a, b, whether with traces) of a pool or (0, 0, ...)."""
    stacks = _stacks.copy() if _stacks else {}
    with tempfile.TemporaryDirectory(prefix="xseg") as folder:
        path = os.path.join(folder, "snapshot.pickle")
        _call("xseg_snapshot", path.encode())
        with open(path, "rb") as f:
            snapshot = pickle.load(f)
    _add_stacks(snapshot, stacks)
    _name_pools(snapshot)
    *pool, traces = which if which is not None and len(which) == 3 else (*(which or (0, 0)), True)
    if any(pool):
        snapshot["segments"] = [s for s in snapshot["segments"] if s["segment_pool_id"] == tuple(pool)]
    if not traces:
        snapshot["device_traces"] = [[] for _ in snapshot["device_traces"]]
    return snapshot


_HISTORY_MOST = 1 << 24


def _observe(stacks):
    global _stacks
    _stacks = stacks
    _lib.xseg_torch_observe(_observer if stacks else _observe_fn())


def _record_memory_history(enabled="all", context="all", stacks="all", max_entries=sys.maxsize, clear_history=False,
                           compile_context=False, global_record_annotations=False, skip_actions=(), *_more, **_named):
    """What torch._C._cuda_record_memory_history() does: the history is xseg's, the stacks are Python's."""
    for value, right, what in ((enabled, ("state", "all", None), "state to be 'state', 'all', or None"),
                               (context, ("state", "alloc", "all", None), "context to be 'state', 'alloc', 'all', or None"),
                               (stacks, ("python", "all"), "stacks to be 'python', or 'all'")):
        if value not in right:
            raise RuntimeError(f"expected {what}")
    if skip_actions:
        warnings.warn("xseg records all actions: skip_actions is ignored")
    if enabled is None or clear_history:
        configure("history:0,history_stacks:False")
        _observe(None)
    if enabled is None:
        return
    entries = 1 if enabled == "state" else max(1, min(max_entries, _HISTORY_MOST))
    native = context is not None and stacks == "all"
    configure(f"history:{entries},history_stacks:{native}")
    # Live blocks keep their stacks however long ago they were allocated, so there may be more of them than events.
    _observe(_Stacks(max(max_entries, 1 << 20)) if context is not None else None)


# ---- pools -------------------------------------------------------------------------------------------


class _MemPool:
    """torch.cuda.MemPool under install()."""

    allocator = None

    def __init__(self, allocator=None, use_on_oom=False, no_split=False):
        if allocator is not None:
            raise NotImplementedError("under xseg_torch.install() a MemPool is xseg's: it takes no allocator")
        torch.cuda.init()
        self.id = tuple(torch._C._graph_pool_handle())
        self._flags = (_USE_ON_OOM if use_on_oom else 0) | (_NO_SPLIT if no_split else 0)
        self._names = {}  # by device
        self._uses = 0
        self.device = torch.cuda.current_device()
        self._name_on(self.device)

    def _name_on(self, device):
        if device not in self._names:
            name = ctypes.c_uint64()
            _call("xseg_torch_create_pool", device, _PoolId(*self.id), self._flags, ctypes.byref(name))
            self._names[device] = name.value
        return self._names[device]

    def __del__(self):
        for device in getattr(self, "_names", {}):
            _lib.xseg_torch_release_pool(device, _PoolId(*self.id))

    def use_count(self):
        return 1 + self._uses

    def snapshot(self, include_traces=True):
        return _memory_snapshot((*self.id, include_traces))["segments"]


@contextlib.contextmanager
def _use_mem_pool(pool, device=None):
    """torch.cuda.use_mem_pool under install(): what this thread allocates comes from the pool; others are not concerned."""
    index = torch.cuda.memory._get_device_index(device, optional=True)
    name = pool._name_on(index)
    _call("xseg_pool_begin", name)
    pool._uses += 1
    try:
        yield
    finally:
        pool._uses -= 1
        _call("xseg_pool_end", name)


def pool(use_on_oom=False, no_split=False):
    """A torch.cuda.MemPool on xseg, for `with torch.cuda.use_mem_pool(...)`.

    Without install() PyTorch's own allocator cuts up the segments that it asks xseg for, with all its statistics and its
    way out of memory; what it frees goes back to the driver at once, so that it may be had again elsewhere.
    """
    _load()
    if _installed is not None:
        return _MemPool(use_on_oom=use_on_oom, no_split=no_split)
    global _segments
    if _segments is None:
        _segments = torch.cuda.memory.CUDAPluggableAllocator(_path, "xseg_torch_malloc", "xseg_torch_give_back")
    options = {k: v for k, v in (("use_on_oom", use_on_oom), ("no_split", no_split)) if v}
    return torch.cuda.MemPool(_segments.allocator(), **options)


# ---- graphs ------------------------------------------------------------------------------------------


def _watched(original):
    """A capture that fails is neither ended nor released by PyTorch, so its pool would stay for ever."""

    @functools.wraps(original)
    def call(*arguments, **named):
        try:
            return original(*arguments, **named)
        except BaseException:
            _lib.xseg_torch_capture_failed()
            raise

    return call


def _plain_compiled_graphs():
    """torch.compile's trees of graphs restore the allocator to what it was at a capture, which nobody else can do. Its
    plain graphs (mode="reduce-overhead" with this setting) need pools alone."""
    try:
        from torch._inductor import config
    except ImportError:
        return
    config.triton.cudagraph_trees = False


# ---- install -----------------------------------------------------------------------------------------

_HOOKS = {
    "set_init_fn": "xseg_torch_init",
    "set_reset_fn": "xseg_torch_reset",
    "set_memory_fraction_fn": "xseg_torch_memory_fraction",
    "set_base_alloc_fn": "xseg_torch_base_allocation",
    "set_record_stream_fn": "xseg_torch_record_stream",
    "set_begin_allocate_to_pool": "xseg_torch_begin_allocate_to_pool",
    "set_end_allocate_to_pool_fn": "xseg_torch_end_allocate_to_pool",
    "set_release_pool": "xseg_torch_release_pool",
}

# In place of torch._C's; all else in torch.cuda and torch.accelerator calls these.
_FUNCTIONS = {
    "_cuda_memoryStats": _memory_stats,
    "_cuda_resetPeakMemoryStats": _reset_peaks,
    "_cuda_resetAccumulatedMemoryStats": _reset_totals,
    "_cuda_getMemoryFraction": _get_memory_fraction,
    "_cuda_memorySnapshot": _memory_snapshot,
    "_cuda_record_memory_history": _record_memory_history,
    "_cuda_record_memory_history_legacy": lambda enabled, *_: _record_memory_history("all" if enabled else None),
    "_accelerator_getDeviceStats": _memory_stats,
    "_accelerator_resetPeakStats": _reset_peaks,
    "_accelerator_resetAccumulatedStats": _reset_totals,
}


def _has(where, name):
    if not hasattr(where, name):
        warnings.warn(f"this PyTorch has no {name}: what it is for does nothing, or raises PyTorch's own error")
    return hasattr(where, name)


def _replace(where, name, new):
    if _has(where, name):
        setattr(where, name, new)


def _set_hooks(allocator):
    for setter, name in _HOOKS.items():
        if _has(allocator, setter):
            getattr(allocator, setter)(ctypes.cast(getattr(_lib, name), ctypes.c_void_p).value)


def _replace_all(torch):
    for name, new in _FUNCTIONS.items():
        _replace(torch._C, name, new)
    for module in (torch.cuda, torch.cuda.memory):
        _replace(module, "MemPool", _MemPool)
        _replace(module, "use_mem_pool", _use_mem_pool)
    for name in ("capture_begin", "capture_end"):
        graph = torch.cuda.CUDAGraph
        _replace(graph, name, _watched(getattr(graph, name, None)))


def is_installed():
    return _installed is not None


def install(conf=None, library=None):
    """Makes xseg the allocator of all CUDA tensors of this process. Once, before the first use of CUDA.

    conf: a policy like ALLOC_CONF, over that of the environment. library: the path of libxseg.so, where it is not
    found by itself. Raises RuntimeError where CUDA is in use already, or the policy is refused.
    """
    global _installed
    if _installed is not None:
        return
    if torch.cuda.is_initialized():
        raise RuntimeError("xseg_torch.install() has to come before the first use of CUDA")
    _load(library)
    if conf is not None:
        configure(conf)
    allocator = torch.cuda.memory.CUDAPluggableAllocator(_path, "xseg_torch_malloc_or_throw", "xseg_torch_free")
    _set_hooks(allocator.allocator())
    torch.cuda.memory.change_current_allocator(allocator)
    _installed = allocator
    if _lib.xseg_torch_can_throw() < 2:
        warnings.warn("this PyTorch's exceptions are not as expected: out of memory is a RuntimeError, or a crash")
    if _lib.xseg_torch_adopt() < _VIRTUAL_FUNCTIONS:
        warnings.warn("this PyTorch's allocator is not as expected: cuDNN's benchmark mode, copies between devices, "
                      "peer access, or tensors for other processes raise an error, or allocations take longer")
    _replace_all(torch)
    _plain_compiled_graphs()
