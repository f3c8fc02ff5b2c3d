/*
 * The driver as the benchmark uses it: to make streams and work, and as a contestant. Opened once, then
 * constant, so any thread may use it. The symbol table is this one list.
 */
#ifndef XS_BENCH_GPU_H
#define XS_BENCH_GPU_H

#include "bench/units.h"
#include "xseg/xseg.h"

/* X(is_required, field, symbol, (parameters)); all return a CUresult. */
#define XS_GPU_LIST(X)                                                                             \
    X(true, init, "cuInit", (unsigned flags))                                                      \
    X(true, device_get, "cuDeviceGet", (int *device, int ordinal))                                 \
    X(true, device_get_name, "cuDeviceGetName", (char *name, int bytes, int device))               \
    X(true, context_retain, "cuDevicePrimaryCtxRetain", (void **context, int device))              \
    X(true, context_release, "cuDevicePrimaryCtxRelease_v2", (int device))                         \
    X(true, context_set, "cuCtxSetCurrent", (void *context))                                       \
    X(true, context_wait, "cuCtxSynchronize", (void))                                              \
    X(true, memory_info, "cuMemGetInfo_v2", (size_t * free_bytes, size_t * total_bytes))           \
    X(true, mem_alloc, "cuMemAlloc_v2", (void **va, size_t bytes))                                 \
    X(true, mem_free, "cuMemFree_v2", (void *va))                                                  \
    X(false, mem_alloc_async, "cuMemAllocAsync", (void **va, size_t bytes, xseg_stream stream))    \
    X(false, mem_free_async, "cuMemFreeAsync", (void *va, xseg_stream stream))                     \
    X(false, pool_default, "cuDeviceGetDefaultMemPool", (void **pool, int device))                 \
    X(false, pool_set, "cuMemPoolSetAttribute", (void *pool, int attribute, void *value))          \
    X(false, pool_trim, "cuMemPoolTrimTo", (void *pool, size_t keep_bytes))                        \
    X(true, fill_words, "cuMemsetD32Async",                                                        \
      (void *va, unsigned word, size_t n, xseg_stream stream))                                     \
    X(true, stream_create, "cuStreamCreate", (xseg_stream * stream, unsigned flags))               \
    X(true, stream_destroy, "cuStreamDestroy_v2", (xseg_stream stream))                            \
    X(true, stream_wait_event, "cuStreamWaitEvent",                                                \
      (xseg_stream stream, void *event, unsigned flags))                                           \
    X(true, event_create, "cuEventCreate", (void **event, unsigned flags))                         \
    X(true, event_destroy, "cuEventDestroy_v2", (void *event))                                     \
    X(true, event_record, "cuEventRecord", (void *event, xseg_stream stream))                      \
    X(false, module_load, "cuModuleLoadData", (void **module, const void *image))                  \
    X(false, module_function, "cuModuleGetFunction",                                               \
      (void **function, void *module, const char *name))                                           \
    X(false, launch, "cuLaunchKernel",                                                             \
      (void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,        \
       unsigned block_y, unsigned block_z, unsigned shared_bytes, xseg_stream stream,              \
       void **parameters, void **extra))

struct xs_gpu {
    char path[4096]; /* of the driver library */
    bool is_simulator;
    char device_name[96];
    int device;
    void *context;
    void *spin; /* the kernel of xs_gpu_spin(); NULL: none */
#define X(is_required, field, symbol, params) int(*field) params;
    XS_GPU_LIST(X)
#undef X
};

/* Loads the driver from `path` and makes the primary context of device 0 current. False: failed. */
bool xs_gpu_open(struct xs_gpu *gpu, const char *path);
void xs_gpu_close(struct xs_gpu *gpu);
/* Makes the context current on the calling thread. */
bool xs_gpu_enter(const struct xs_gpu *gpu);

/* Non-blocking streams; after a failure those that were made are destroyed. */
bool xs_gpu_make_streams(const struct xs_gpu *gpu, xseg_stream *streams, size_t n);
void xs_gpu_destroy_streams(const struct xs_gpu *gpu, const xseg_stream *streams, size_t n);

/*
 * Queues work that keeps the stream busy for `ns` and then writes a word at `va`. On the simulator, and
 * wherever kernels cannot be loaded, it only sets the word, which takes no time.
 */
bool xs_gpu_spin(const struct xs_gpu *gpu, void *va, uint64_t ns, xseg_stream stream);
/* Work queued on `second` from now on begins after what `first` has been given. */
bool xs_gpu_order(const struct xs_gpu *gpu, xseg_stream first, xseg_stream second);
bool xs_gpu_wait(const struct xs_gpu *gpu);
bool xs_gpu_used_bytes(const struct xs_gpu *gpu, uint64_t *bytes);

#endif
