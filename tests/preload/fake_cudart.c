/*
 * A runtime library that reaches the driver as the real one does: everything by cuGetProcAddress_v2, and that by
 * one dlsym. It initialises at first use, keeps a device for each thread, and an error slot. Linked into a
 * program it stands for the static one, as a library of its own for the shared one.
 */
#include "fake_cudart.h"

#include <dlfcn.h>
#include <pthread.h>

#include "sim/sim_abi.h"

#define VERSION 13000

/* X(name, base, (parameters)) */
#define DRIVER_LIST(X)                                                                             \
    X(init, "cuInit", (unsigned flags))                                                            \
    X(retain, "cuDevicePrimaryCtxRetain", (xs_cu_context * context, xs_cu_device device))          \
    X(reset, "cuDevicePrimaryCtxReset", (xs_cu_device device))                                     \
    X(get_current, "cuCtxGetCurrent", (xs_cu_context * context))                                   \
    X(set_current, "cuCtxSetCurrent", (xs_cu_context context))                                     \
    X(alloc, "cuMemAlloc", (xs_cu_ptr * va, size_t bytes))                                         \
    X(release, "cuMemFree", (xs_cu_ptr va))                                                        \
    X(pitch, "cuMemAllocPitch",                                                                    \
      (xs_cu_ptr * va, size_t * pitch, size_t width, size_t height, unsigned element))             \
    X(info, "cuMemGetInfo", (size_t * free_bytes, size_t * total_bytes))                           \
    X(alloc_async, "cuMemAllocAsync", (xs_cu_ptr * va, size_t bytes, xs_cu_stream stream))         \
    X(free_async, "cuMemFreeAsync", (xs_cu_ptr va, xs_cu_stream stream))

static struct {
    xs_cu_result (*find)(const char *name, void **fn, int version, uint64_t flags, int *status);
#define X(name, base, params) xs_cu_result(*name) params;
    DRIVER_LIST(X)
#undef X
} driver;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static xs_cu_context contexts[2];
static __thread int device;
static __thread int last_error;

static void load(void)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    *(void **)&driver.find = library ? dlsym(library, "cuGetProcAddress_v2") : NULL;
    if (!driver.find)
        return;
#define X(name, base, params) driver.find(base, (void **)&driver.name, VERSION, 1, NULL);
    DRIVER_LIST(X)
#undef X
    driver.init(0);
}

static int fail(xs_cu_result code)
{
    if (code)
        last_error = code;
    return code;
}

static int enter(void)
{
    xs_cu_context current = NULL;
    pthread_once(&once, load);
    if (!driver.find)
        return fail(35); /* cudaErrorInsufficientDriver */
    if (!contexts[device])
        driver.retain(&contexts[device], device);
    if (!driver.get_current(&current) && current != contexts[device])
        driver.set_current(contexts[device]);
    return 0;
}

int cudaMalloc(void **ptr, size_t bytes)
{
    xs_cu_ptr va = 0;
    if (enter())
        return last_error;
    if (!ptr)
        return fail(XS_CUDA_ERROR_INVALID_VALUE);
    xs_cu_result code = bytes ? driver.alloc(&va, bytes) : XS_CUDA_SUCCESS;
    if (!code)
        *ptr = (void *)(uintptr_t)va;
    return fail(code);
}

int cudaFree(void *ptr)
{
    if (enter())
        return last_error;
    return ptr ? fail(driver.release((uintptr_t)ptr)) : 0;
}

int cudaMallocAsync(void **ptr, size_t bytes, void *stream)
{
    xs_cu_ptr va = 0;
    if (enter())
        return last_error;
    xs_cu_result code = driver.alloc_async(&va, bytes, stream);
    if (!code)
        *ptr = (void *)(uintptr_t)va;
    return fail(code);
}

int cudaFreeAsync(void *ptr, void *stream)
{
    return enter() ? last_error : fail(driver.free_async((uintptr_t)ptr, stream));
}

int cudaMallocPitch(void **ptr, size_t *pitch, size_t width, size_t height)
{
    xs_cu_ptr va = 0;
    if (enter())
        return last_error;
    xs_cu_result code = driver.pitch(&va, pitch, width, height, 4);
    if (!code)
        *ptr = (void *)(uintptr_t)va;
    return fail(code);
}

int cudaMemGetInfo(size_t *free_bytes, size_t *total_bytes)
{
    return enter() ? last_error : fail(driver.info(free_bytes, total_bytes));
}

int cudaSetDevice(int to)
{
    device = to;
    return enter() ? last_error : 0;
}

int cudaDeviceReset(void)
{
    return enter() ? last_error : fail(driver.reset(device));
}

int cudaGetLastError(void)
{
    int error = last_error;
    last_error = 0;
    return error;
}

int cudaPeekAtLastError(void)
{
    return last_error;
}

int cudaGetDriverEntryPointByVersion(const char *symbol, void **fn, unsigned version,
                                     unsigned long long flags, int *status)
{
    if (enter())
        return last_error;
    return fail(driver.find(symbol, fn, (int)version, flags, status));
}

int cudaGetDriverEntryPoint(const char *symbol, void **fn, unsigned long long flags, int *status)
{
    return cudaGetDriverEntryPointByVersion(symbol, fn, VERSION, flags, status);
}
