"""CuPy on xseg: its function allocator, in the order of CuPy's current stream.

    import cupy_allocator; cupy_allocator.install()
"""
import ctypes

import cupy

lib = ctypes.CDLL("libxseg.so.0")
lib.xseg_last_error.restype = ctypes.c_char_p
lib.xseg_malloc.argtypes = [ctypes.POINTER(ctypes.c_void_p), ctypes.c_size_t, ctypes.c_int, ctypes.c_void_p]
lib.xseg_free.argtypes = [ctypes.c_void_p]


def malloc(size, device):
    ptr = ctypes.c_void_p()
    if lib.xseg_malloc(ctypes.byref(ptr), size, device, cupy.cuda.get_current_stream().ptr):
        raise MemoryError(lib.xseg_last_error().decode())
    return ptr.value or 0


def free(ptr, device):
    lib.xseg_free(ptr)  # in the order of the stream that it was allocated for


allocator = cupy.cuda.PythonFunctionAllocator(malloc, free)


def install():
    cupy.cuda.set_allocator(allocator.malloc)


if __name__ == "__main__":
    install()
    a = cupy.arange(1 << 20, dtype=cupy.float32)
    for _ in range(100):
        b = (a * 2 + 1).sum()
    assert abs(float(b) / 2**40 - 1) < 1e-3
    print("sum", float(b))
