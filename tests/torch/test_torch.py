"""Drives every hook through ctypes, as torch does: the library is loaded late, and the hooks are addresses.
    test_torch.py LIBRARY SIMULATOR
"""
import ctypes
import threading
import sys

lib = ctypes.CDLL(sys.argv[1], mode=ctypes.RTLD_LOCAL)


class PoolId(ctypes.Structure):
    _fields_ = [("first", ctypes.c_uint64), ("second", ctypes.c_uint64)]


class Gauge(ctypes.Structure):
    _fields_ = [(n, ctypes.c_uint64) for n in ("current", "peak", "allocated", "freed")]


class Stats(ctypes.Structure):  # as far as it is looked at
    _fields_ = [("size", ctypes.c_size_t), ("device", ctypes.c_int)] + [
        (n, Gauge) for n in ("requested", "allocated", "active", "reserved", "cached", "allocations")]


def hook(name, result, *arguments):
    address = ctypes.cast(getattr(lib, name), ctypes.c_void_p).value
    return ctypes.CFUNCTYPE(result, *arguments)(address)


size_t, void_p, c_int = ctypes.c_size_t, ctypes.c_void_p, ctypes.c_int
alloc = hook("xseg_torch_malloc", void_p, size_t, c_int, void_p)
alloc_or_throw = hook("xseg_torch_malloc_or_throw", void_p, size_t, c_int, void_p)
free = hook("xseg_torch_free", None, void_p, size_t, c_int, void_p)
init = hook("xseg_torch_init", None, c_int)
reset = hook("xseg_torch_reset", None)
fraction = hook("xseg_torch_memory_fraction", None, ctypes.c_double, c_int)
base = hook("xseg_torch_base_allocation", void_p, void_p, ctypes.POINTER(size_t))
record = hook("xseg_torch_record_stream", None, void_p, void_p)
begin = hook("xseg_torch_begin_allocate_to_pool", None, c_int, PoolId, void_p)
end = hook("xseg_torch_end_allocate_to_pool", None, c_int, PoolId)
release = hook("xseg_torch_release_pool", None, c_int, PoolId)
failed = hook("xseg_torch_capture_failed", c_int)


def stats(device=0):
    s = Stats(size=ctypes.sizeof(Stats))
    assert lib.xseg_get_stats(device, ctypes.byref(s)) == 0
    return s


def pool_of(p):
    pool = ctypes.c_uint64()
    assert lib.xseg_pool_of(void_p(p), ctypes.byref(pool)) == 0
    return pool.value


def basics():
    init(0)
    init(1)
    assert alloc(0, 0, None) is None
    p = alloc(1000, 0, None)
    n = size_t()
    assert base(p, ctypes.byref(n)) == p and n.value == 1024
    record(p, None)
    free(p, 1000, 0, None)
    assert stats().allocations.current == 0 and stats().reserved.current > 0
    reset()
    assert stats().reserved.current == 0


def peaks():  # report R87
    p = alloc(30 << 20, 0, None)
    assert lib.xseg_reset_peaks(0) == 0
    s = stats()
    assert s.requested.peak == s.requested.current == 30 << 20
    free(alloc(10 << 20, 0, None), 10 << 20, 0, None)
    assert stats().requested.peak == 40 << 20
    assert stats().requested.allocated >= 40 << 20
    free(p, 30 << 20, 0, None)


def limit():  # reports R15 and R33
    total = size_t()
    assert lib.xseg_memory_info(0, None, ctypes.byref(total)) == 0
    fraction(0.8, 0)
    a = alloc(total.value * 6 // 10, 0, None)
    assert a
    free(a, total.value * 6 // 10, 0, None)
    b = alloc(total.value * 7 // 10, 0, None)
    assert b
    assert alloc(total.value // 2, 0, None) is None
    small = alloc(512, 0, None)
    assert small
    free(small, 512, 0, None)
    free(b, total.value * 7 // 10, 0, None)
    fraction(1.0, 0)
    reset()


def refused():  # report R33, where this process has no libc10.so: NULL, and it goes on
    total = size_t()
    assert lib.xseg_memory_info(0, None, ctypes.byref(total)) == 0
    assert lib.xseg_torch_can_throw() == 0 and alloc_or_throw(2 * total.value, 0, None) is None
    p = alloc_or_throw(512, 0, None)
    assert p
    free(p, 512, 0, None)
    reset()


def graphs():
    pool = PoolId(0, 3)
    begin(0, pool, None)
    p = alloc(1 << 20, 0, None)
    end(0, pool)
    q = alloc(1 << 20, 0, None)
    assert pool_of(p) and not pool_of(q)
    free(p, 1 << 20, 0, None)
    free(q, 1 << 20, 0, None)
    reset()
    assert stats().reserved.current > 0  # held
    release(0, pool)
    reset()
    assert stats().reserved.current == 0
    begin(0, PoolId(4, 0), None)
    assert failed() == 1 and failed() == 0


def threads():  # report R98: ctypes lets the interpreter's lock go, and xseg never wants it
    def churn():
        for i in range(2000):
            n = 512 * (1 + i % 50)
            free(alloc(n, 0, None), n, 0, None)
            if i % 200 == 0:
                reset()
    workers = [threading.Thread(target=churn) for _ in range(4)]
    for w in workers:
        w.start()
    for w in workers:
        w.join()
    assert stats().allocations.current == 0


def main():
    assert lib.xseg_use_driver_library(sys.argv[2].encode()) == 0
    for test in (basics, peaks, limit, refused, graphs, threads):
        test()
    assert lib.xseg_shutdown() == 0
    print("6 passed, 0 failed")


main()
