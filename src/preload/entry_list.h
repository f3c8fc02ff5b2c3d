/*
 * Every entry that the preload stands before, once. From these rows come the exported functions, the table of
 * hooks, the look-up by name for dlsym and cuGetProcAddress, the pointers to the native functions, and
 * docs/preload.md.
 *
 *   B(symbol, since, (parameters), (arguments), group, "text")   a body of its own, in a file of the preload
 *   R(symbol, since, (parameters), (arguments))  the driver's, asked once more when memory is short
 *   W(symbol, since, (parameters), (arguments), stream)   gives work to a stream; in work_list.h
 *
 * symbol is the name that libcuda exports; cuGetProcAddress takes it without _v2, _v3, _ptsz and _ptds. since
 * is the first version that has it with these parameters: with an older one the program gets the driver's own.
 */
#ifndef XS_PRELOAD_ENTRY_LIST_H
#define XS_PRELOAD_ENTRY_LIST_H

#include "driver/cuda_abi.h"

#ifndef XS_ENTRY_VENDOR_TYPES /* entry_abi_check.c */
struct xs_ipc_handle {        /* CUipcMemHandle */
    char bytes[64];
};
#endif

/* clang-format off */
#define XS_ENTRY_BODY_LIST(B)                                                                      \
    B(cuGetProcAddress, 11030,                                                                     \
      (const char *name, void **fn, int version, uint64_t flags), (name, fn, version, flags),      \
      LOOKUP, "Asks the driver, and hands out the functions of this table in place of its own.")   \
    B(cuGetProcAddress_v2, 12000,                                                                  \
      (const char *name, void **fn, int version, uint64_t flags, int *status),                     \
      (name, fn, version, flags, status),                                                          \
      LOOKUP, "The same.")                                                                         \
    B(cuMemAlloc_v2, 3020, (xs_cu_ptr *va, size_t bytes), (va, bytes),                             \
      MEMORY, "Served. The memory may be used by all streams at once.")                            \
    B(cuMemFree_v2, 3020, (xs_cu_ptr va), (va),                                                    \
      MEMORY, "Served, and does not wait: the address is not handed out again before all work "    \
      "of the context that was queued before the free is done.")                                   \
    B(cuMemAllocPitch_v2, 3020,                                                                    \
      (xs_cu_ptr *va, size_t *pitch, size_t width, size_t height, unsigned element),               \
      (va, pitch, width, height, element),                                                         \
      MEMORY, "Served, with a pitch that is a multiple of 512.")                                   \
    B(cuMemGetInfo_v2, 3020, (size_t *free_bytes, size_t *total_bytes), (free_bytes, total_bytes), \
      MEMORY, "Free memory includes what is cached and could be given back; a limit counts.")      \
    B(cuMemGetAddressRange_v2, 3020, (xs_cu_ptr *base, size_t *bytes, xs_cu_ptr va),               \
      (base, bytes, va),                                                                           \
      MEMORY, "Answers for the allocation, and not for a piece of physical memory behind it.")     \
    B(cuPointerGetAttribute, 4000, (void *data, int attribute, xs_cu_ptr va),                      \
      (data, attribute, va),                                                                       \
      MEMORY, "Start and size of the range are those of the allocation.")                          \
    B(cuPointerGetAttributes, 7000,                                                                \
      (unsigned n, int *attributes, void **data, xs_cu_ptr va), (n, attributes, data, va),         \
      MEMORY, "The same.")                                                                         \
    B(cuMemAllocAsync, 11020, (xs_cu_ptr *va, size_t bytes, xs_cu_stream stream),                  \
      (va, bytes, stream),                                                                         \
      ASYNC, "Served in the order of the stream; a capturing stream's is the driver's.")           \
    B(cuMemAllocAsync_ptsz, 11020, (xs_cu_ptr *va, size_t bytes, xs_cu_stream stream),             \
      (va, bytes, stream), ASYNC, "The same.")                                                     \
    B(cuMemFreeAsync, 11020, (xs_cu_ptr va, xs_cu_stream stream), (va, stream),                    \
      ASYNC, "Served in the order of the stream.")                                                 \
    B(cuMemFreeAsync_ptsz, 11020, (xs_cu_ptr va, xs_cu_stream stream), (va, stream),               \
      ASYNC, "The same.")                                                                          \
    B(cuMemAllocFromPoolAsync, 11020,                                                              \
      (xs_cu_ptr *va, size_t bytes, void *pool, xs_cu_stream stream), (va, bytes, pool, stream),   \
      ASYNC, "Served from the device's default pool; the driver's from any other.")                \
    B(cuMemAllocFromPoolAsync_ptsz, 11020,                                                         \
      (xs_cu_ptr *va, size_t bytes, void *pool, xs_cu_stream stream), (va, bytes, pool, stream),   \
      ASYNC, "The same.")                                                                          \
    B(cuDeviceSetMemPool, 11020, (xs_cu_device device, void *pool), (device, pool),                \
      ASYNC, "Once it has named another pool than the default one, cuMemAllocAsync is the "        \
      "driver's.")                                                                                 \
    B(cuMemSetMemPool, 13000, (void *location, int type, void *pool), (location, type, pool),      \
      ASYNC, "The same.")                                                                          \
    B(cuMemPoolSetAccess, 11020, (void *pool, const void *access, size_t count),                   \
      (pool, access, count),                                                                       \
      ASYNC, "Once the default pool is opened to other devices, cuMemAllocAsync is the driver's.") \
    B(cuStreamBeginCapture_v2, 10010, (xs_cu_stream stream, int mode), (stream, mode),             \
      STREAM, "Noted: until the capture ends nothing is done that would invalidate it.")           \
    B(cuStreamBeginCapture_v2_ptsz, 10010, (xs_cu_stream stream, int mode), (stream, mode),        \
      STREAM, "The same.")                                                                         \
    B(cuStreamBeginCapture, 10000, (xs_cu_stream stream), (stream), STREAM, "The same.")           \
    B(cuStreamBeginCapture_ptsz, 10000, (xs_cu_stream stream), (stream), STREAM, "The same.")      \
    B(cuStreamBeginCaptureToGraph, 12030,                                                          \
      (xs_cu_stream stream, void *graph, const void *deps, const void *data, size_t n, int mode),  \
      (stream, graph, deps, data, n, mode), STREAM, "The same.")                                   \
    B(cuStreamBeginCaptureToGraph_ptsz, 12030,                                                     \
      (xs_cu_stream stream, void *graph, const void *deps, const void *data, size_t n, int mode),  \
      (stream, graph, deps, data, n, mode), STREAM, "The same.")                                   \
    B(cuStreamEndCapture, 10000, (xs_cu_stream stream, void **graph), (stream, graph),             \
      STREAM, "Noted.")                                                                            \
    B(cuStreamEndCapture_ptsz, 10000, (xs_cu_stream stream, void **graph), (stream, graph),        \
      STREAM, "Noted.")                                                                            \
    B(cuStreamDestroy_v2, 4000, (xs_cu_stream stream), (stream),                                   \
      STREAM, "Ends a capture of the stream; else the driver's.")                                  \
    B(cuCtxEnablePeerAccess, 4000, (xs_cu_context peer, unsigned flags), (peer, flags),            \
      CONTEXT, "Covers all memory of that device, present and future.")                            \
    B(cuCtxDisablePeerAccess, 4000, (xs_cu_context peer), (peer), CONTEXT, "Undoes it.")           \
    B(cuCtxDestroy_v2, 4000, (xs_cu_context context), (context),                                   \
      CONTEXT, "The context's memory is given back first.")                                        \
    B(cuDevicePrimaryCtxRetain, 7000, (xs_cu_context *context, xs_cu_device device),               \
      (context, device), CONTEXT, "Counted.")                                                      \
    B(cuDevicePrimaryCtxRelease, 7000, (xs_cu_device device), (device),                            \
      CONTEXT, "The last one gives the device's memory back first.")                               \
    B(cuDevicePrimaryCtxRelease_v2, 11000, (xs_cu_device device), (device),                        \
      CONTEXT, "The same.")                                                                        \
    B(cuDevicePrimaryCtxReset, 7000, (xs_cu_device device), (device),                              \
      CONTEXT, "The device's memory is given back first.")                                         \
    B(cuDevicePrimaryCtxReset_v2, 11000, (xs_cu_device device), (device),                          \
      CONTEXT, "The same.")                                                                        \
    B(cuIpcGetMemHandle, 4010, (struct xs_ipc_handle *handle, xs_cu_ptr va), (handle, va),         \
      IPC, "A handle that other processes under xseg can open; of foreign memory the driver's.")   \
    B(cuIpcOpenMemHandle, 4010,                                                                    \
      (xs_cu_ptr *va, struct xs_ipc_handle handle, unsigned flags), (va, handle, flags),           \
      IPC, "Opens such handles, and the driver's.")                                                \
    B(cuIpcOpenMemHandle_v2, 11000,                                                                \
      (xs_cu_ptr *va, struct xs_ipc_handle handle, unsigned flags), (va, handle, flags),           \
      IPC, "The same.")                                                                            \
    B(cuIpcCloseMemHandle, 4010, (xs_cu_ptr va), (va), IPC, "Closes them.")

#define XS_ENTRY_RETRY_LIST(R)                                                                     \
    R(cuMemAllocManaged, 6000, (xs_cu_ptr *va, size_t bytes, unsigned flags), (va, bytes, flags))  \
    R(cuMemCreate, 10020,                                                                          \
      (xs_cu_mem *mem, size_t bytes, const struct xs_cu_alloc_prop *prop,                          \
       unsigned long long flags), (mem, bytes, prop, flags))                                       \
    R(cuArrayCreate_v2, 3020, (void **array, const void *desc), (array, desc))                     \
    R(cuArray3DCreate_v2, 3020, (void **array, const void *desc), (array, desc))                   \
    R(cuMipmappedArrayCreate, 5000, (void **array, const void *desc, unsigned levels),             \
      (array, desc, levels))                                                                       \
    R(cuModuleLoad, 2000, (void **module, const char *file), (module, file))                       \
    R(cuModuleLoadData, 2000, (void **module, const void *image), (module, image))                 \
    R(cuModuleLoadDataEx, 2010,                                                                    \
      (void **module, const void *image, unsigned n, int *options, void **values),                 \
      (module, image, n, options, values))                                                         \
    R(cuModuleLoadFatBinary, 2000, (void **module, const void *image), (module, image))            \
    R(cuLibraryLoadData, 12000,                                                                    \
      (void **library, const void *image, int *jit, void **jit_values, unsigned n_jit,             \
       int *options, void **values, unsigned n),                                                   \
      (library, image, jit, jit_values, n_jit, options, values, n))                                \
    R(cuModuleGetFunction, 2000, (void **function, void *module, const char *name),                \
      (function, module, name))                                                                    \
    R(cuGraphInstantiateWithFlags, 11040,                                                          \
      (void **exec, void *graph, unsigned long long flags), (exec, graph, flags))
/* clang-format on */

#endif
