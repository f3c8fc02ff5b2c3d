/*
 * The driver as the program itself uses it, beside the library: to see whether there is a GPU, to
 * make the streams that a trace names, and to write and check data. The same file is loaded that
 * xseg_use_driver_library() is given. Not thread-safe.
 */
#ifndef XS_CLI_CUDA_H
#define XS_CLI_CUDA_H

#include "base/base.h"

/* X(is_required, field, symbol, (parameters)); all return a CUresult. */
/* clang-format off */
#define XS_CUDA_LIST(X)                                                                            \
    X(true, init, "cuInit", (unsigned flags))                                                      \
    X(true, device_count, "cuDeviceGetCount", (int *count))                                        \
    X(true, device_get, "cuDeviceGet", (int *device, int ordinal))                                 \
    X(true, device_get_name, "cuDeviceGetName", (char *name, int bytes, int device))               \
    X(true, context_retain, "cuDevicePrimaryCtxRetain", (void **context, int device))              \
    X(true, context_release, "cuDevicePrimaryCtxRelease_v2", (int device))                         \
    X(true, context_set, "cuCtxSetCurrent", (void *context))                                       \
    X(true, stream_create, "cuStreamCreate", (xseg_stream *stream, unsigned flags))                \
    X(true, stream_destroy, "cuStreamDestroy_v2", (xseg_stream stream))                            \
    X(true, stream_wait, "cuStreamSynchronize", (xseg_stream stream))                              \
    X(true, memory_info, "cuMemGetInfo_v2", (size_t *free_bytes, size_t *total_bytes))             \
    X(false, fill_words, "cuMemsetD32Async",                                                       \
      (unsigned long long va, unsigned word, size_t n, xseg_stream stream))                        \
    X(false, copy_to_host, "cuMemcpyDtoH_v2", (void *to, unsigned long long va, size_t bytes))     \
    X(false, module_load, "cuModuleLoadData", (void **module, const void *image))                  \
    X(false, module_unload, "cuModuleUnload", (void *module))                                      \
    X(false, module_function, "cuModuleGetFunction",                                               \
      (void **function, void *module, const char *name))                                           \
    X(false, module_global, "cuModuleGetGlobal_v2",                                                \
      (unsigned long long *va, size_t *bytes, void *module, const char *name))                     \
    X(false, launch, "cuLaunchKernel",                                                             \
      (void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,        \
       unsigned block_y, unsigned block_z, unsigned shared_bytes, xseg_stream stream,              \
       void **parameters, void **extra))                                                           \
    X(false, sim_manual, "xs_sim_stream_manual", (xseg_stream stream, bool manual))                \
    X(false, sim_launch, "xs_sim_launch",                                                          \
      (xseg_stream stream, unsigned long long va, size_t bytes))
/* clang-format on */

#define XS_CUDA_PATH_BYTES 4096

enum xs_cuda_choice {
    XS_CUDA_AUTO, /* the real driver if it has a device, else the simulator */
    XS_CUDA_SIM,
    XS_CUDA_REAL
};

struct xs_cuda {
    void *library;
    bool is_simulator;
    char path[XS_CUDA_PATH_BYTES]; /* as to be given to xseg_use_driver_library() */
    char device_name[96];
    int device;
    char no_gpu[256]; /* why "auto" took the simulator; "" where it did not */
#define X(is_required, field, symbol, params) int(*field) params;
    XS_CUDA_LIST(X)
#undef X
    /* As those of the list that begin so: NULL on a GPU. */
    size_t (*sim_advance)(xseg_stream stream, size_t n);
    size_t (*sim_queued)(void);
    void (*sim_reach_after)(unsigned queries);
};

/* "auto", "sim" or "cuda"; NULL is "auto". False: another word, and *choice is untouched. */
bool xs_cuda_parse_choice(const char *text, enum xs_cuda_choice *choice);

/*
 * Loads the driver and makes the primary context of device 0 current, until xs_cuda_close(). The
 * simulator is $XSEG_SIM_LIBRARY, or sim/libcuda.so.1 beside the executable, or in ../lib/xseg from
 * there. With `needs_data` it keeps what is written to its memory; otherwise it need not (XSEG_SIM_DATA).
 * The library stays loaded for ever. Errors: NO_DRIVER, NO_DEVICE, DRIVER; no context is held then.
 */
enum xseg_result xs_cuda_open(struct xs_cuda *cuda, enum xs_cuda_choice choice, bool needs_data);
void xs_cuda_close(struct xs_cuda *cuda);

/* XSEG_OK, or DRIVER with "SYMBOL: error CODE". */
enum xseg_result xs_cuda_check(const char *symbol, int code);
/* What the device has given out, to this process and to others. */
enum xseg_result xs_cuda_used_bytes(const struct xs_cuda *cuda, uint64_t *bytes);

#endif
