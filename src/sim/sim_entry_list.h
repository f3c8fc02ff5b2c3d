/*
 * Every entry point of the simulated libcuda, once. From this list come the exported functions, the
 * prototypes of the bodies xs_sim_do_<symbol>(), the call counters and cuGetProcAddress.
 *
 *   X(symbol, need, (parameters), (arguments))      an entry point
 *   P(symbol, base, (parameters), (arguments))      its per-thread-default-stream twin
 *
 * need: ANY   works before cuInit
 *       INIT  needs cuInit
 *       CTX   needs a current context as well
 * With _CB it is also allowed inside a host function; all others are NOT_PERMITTED there.
 */
#ifndef XS_SIM_SIM_ENTRY_LIST_H
#define XS_SIM_SIM_ENTRY_LIST_H

/* clang-format off */
#define XS_SIM_ENTRY_LIST(X)                                                                       \
    X(cuInit, ANY_CB, (unsigned flags), (flags))                                                   \
    X(cuDriverGetVersion, ANY_CB, (int *version), (version))                                       \
    X(cuGetErrorName, ANY_CB, (xs_cu_result error, const char **text), (error, text))              \
    X(cuGetErrorString, ANY_CB, (xs_cu_result error, const char **text), (error, text))            \
    X(cuGetProcAddress, ANY_CB, (const char *symbol, void **fn, int version, uint64_t flags),      \
      (symbol, fn, version, flags))                                                                \
    X(cuGetProcAddress_v2, ANY_CB,                                                                 \
      (const char *symbol, void **fn, int version, uint64_t flags, int *status),                   \
      (symbol, fn, version, flags, status))                                                        \
    /* devices and contexts */                                                                     \
    X(cuDeviceGetCount, INIT_CB, (int *count), (count))                                            \
    X(cuDeviceGet, INIT_CB, (xs_cu_device *dev, int ordinal), (dev, ordinal))                      \
    X(cuDeviceGetName, INIT_CB, (char *name, int len, xs_cu_device dev), (name, len, dev))         \
    X(cuDeviceGetAttribute, INIT_CB, (int *value, int attr, xs_cu_device dev), (value, attr, dev)) \
    X(cuDeviceTotalMem_v2, INIT_CB, (size_t *bytes, xs_cu_device dev), (bytes, dev))               \
    X(cuDeviceCanAccessPeer, INIT_CB, (int *can, xs_cu_device dev, xs_cu_device peer),             \
      (can, dev, peer))                                                                            \
    X(cuDevicePrimaryCtxRetain, INIT, (xs_cu_context *ctx, xs_cu_device dev), (ctx, dev))          \
    X(cuDevicePrimaryCtxRelease_v2, INIT, (xs_cu_device dev), (dev))                               \
    X(cuDevicePrimaryCtxReset_v2, INIT, (xs_cu_device dev), (dev))                                 \
    X(cuDevicePrimaryCtxGetState, INIT_CB, (xs_cu_device dev, unsigned *flags, int *active),       \
      (dev, flags, active))                                                                        \
    X(cuCtxCreate_v2, INIT, (xs_cu_context *ctx, unsigned flags, xs_cu_device dev),                \
      (ctx, flags, dev))                                                                           \
    X(cuCtxCreate_v4, INIT,                                                                        \
      (xs_cu_context *ctx, void *params, unsigned flags, xs_cu_device dev),                        \
      (ctx, params, flags, dev))                                                                   \
    X(cuCtxDestroy_v2, INIT, (xs_cu_context ctx), (ctx))                                           \
    X(cuCtxGetCurrent, INIT_CB, (xs_cu_context *ctx), (ctx))                                       \
    X(cuCtxSetCurrent, INIT_CB, (xs_cu_context ctx), (ctx))                                        \
    X(cuCtxPushCurrent_v2, INIT_CB, (xs_cu_context ctx), (ctx))                                    \
    X(cuCtxPopCurrent_v2, INIT_CB, (xs_cu_context *ctx), (ctx))                                    \
    X(cuCtxGetDevice, INIT_CB, (xs_cu_device *dev), (dev))                                         \
    X(cuCtxSynchronize, CTX, (void), ())                                                           \
    X(cuCtxEnablePeerAccess, CTX, (xs_cu_context peer, unsigned flags), (peer, flags))             \
    X(cuCtxDisablePeerAccess, CTX, (xs_cu_context peer), (peer))                                   \
    X(cuCtxRecordEvent, INIT, (xs_cu_context ctx, xs_cu_event event), (ctx, event))                \
    /* virtual memory */                                                                           \
    X(cuMemGetAllocationGranularity, INIT,                                                         \
      (size_t *bytes, const struct xs_cu_alloc_prop *prop, int option), (bytes, prop, option))     \
    X(cuMemAddressReserve, INIT,                                                                   \
      (xs_cu_ptr *va, size_t bytes, size_t alignment, xs_cu_ptr hint, unsigned long long flags),   \
      (va, bytes, alignment, hint, flags))                                                         \
    X(cuMemAddressFree, INIT, (xs_cu_ptr va, size_t bytes), (va, bytes))                           \
    X(cuMemCreate, INIT,                                                                           \
      (xs_cu_mem *mem, size_t bytes, const struct xs_cu_alloc_prop *prop,                          \
       unsigned long long flags),                                                                  \
      (mem, bytes, prop, flags))                                                                   \
    X(cuMemRelease, INIT, (xs_cu_mem mem), (mem))                                                  \
    X(cuMemMap, INIT,                                                                              \
      (xs_cu_ptr va, size_t bytes, size_t offset, xs_cu_mem mem, unsigned long long flags),        \
      (va, bytes, offset, mem, flags))                                                             \
    X(cuMemUnmap, INIT, (xs_cu_ptr va, size_t bytes), (va, bytes))                                 \
    X(cuMemSetAccess, INIT,                                                                        \
      (xs_cu_ptr va, size_t bytes, const struct xs_cu_access_desc *desc, size_t count),            \
      (va, bytes, desc, count))                                                                    \
    X(cuMemGetAccess, INIT,                                                                        \
      (unsigned long long *flags, const struct xs_cu_location *where, xs_cu_ptr va),               \
      (flags, where, va))                                                                          \
    X(cuMemExportToShareableHandle, INIT,                                                          \
      (void *out, xs_cu_mem mem, int type, unsigned long long flags), (out, mem, type, flags))     \
    X(cuMemImportFromShareableHandle, INIT, (xs_cu_mem *mem, void *handle, int type),              \
      (mem, handle, type))                                                                         \
    X(cuIpcGetMemHandle, CTX, (struct xs_sim_ipc_handle *handle, xs_cu_ptr va), (handle, va))      \
    X(cuIpcOpenMemHandle_v2, CTX,                                                                  \
      (xs_cu_ptr *va, struct xs_sim_ipc_handle handle, unsigned flags), (va, handle, flags))       \
    X(cuIpcCloseMemHandle, CTX, (xs_cu_ptr va), (va))                                              \
    /* plain memory */                                                                             \
    X(cuMemGetInfo_v2, CTX, (size_t *free_bytes, size_t *total_bytes), (free_bytes, total_bytes))  \
    X(cuMemAlloc_v2, CTX, (xs_cu_ptr *va, size_t bytes), (va, bytes))                              \
    X(cuMemAllocPitch_v2, CTX,                                                                     \
      (xs_cu_ptr *va, size_t *pitch, size_t width, size_t height, unsigned element),               \
      (va, pitch, width, height, element))                                                         \
    X(cuMemAllocManaged, CTX, (xs_cu_ptr *va, size_t bytes, unsigned flags), (va, bytes, flags))   \
    X(cuMemFree_v2, CTX, (xs_cu_ptr va), (va))                                                     \
    X(cuMemAllocAsync, INIT, (xs_cu_ptr *va, size_t bytes, xs_cu_stream stream),                   \
      (va, bytes, stream))                                                                         \
    X(cuMemFreeAsync, INIT, (xs_cu_ptr va, xs_cu_stream stream), (va, stream))                     \
    X(cuDeviceGetDefaultMemPool, INIT, (void **pool, xs_cu_device dev), (pool, dev))               \
    X(cuDeviceSetMemPool, INIT, (xs_cu_device dev, void *pool), (dev, pool))                       \
    X(cuMemAllocFromPoolAsync, INIT,                                                               \
      (xs_cu_ptr *va, size_t bytes, void *pool, xs_cu_stream stream), (va, bytes, pool, stream))   \
    X(cuMemGetAddressRange_v2, INIT, (xs_cu_ptr *base, size_t *bytes, xs_cu_ptr va),               \
      (base, bytes, va))                                                                           \
    X(cuPointerGetAttribute, INIT_CB, (void *data, int attr, xs_cu_ptr va), (data, attr, va))      \
    X(cuPointerGetAttributes, INIT_CB,                                                             \
      (unsigned n, int *attrs, void **data, xs_cu_ptr va), (n, attrs, data, va))                   \
    X(cuMemHostRegister_v2, CTX, (void *p, size_t bytes, unsigned flags), (p, bytes, flags))       \
    X(cuMemHostUnregister, CTX, (void *p), (p))                                                    \
    X(cuMemHostAlloc, CTX, (void **p, size_t bytes, unsigned flags), (p, bytes, flags))            \
    X(cuMemFreeHost, CTX, (void *p), (p))                                                          \
    X(cuMemHostGetDevicePointer_v2, CTX, (xs_cu_ptr *va, void *p, unsigned flags), (va, p, flags)) \
    /* work */                                                                                     \
    X(cuMemsetD8_v2, CTX, (xs_cu_ptr va, unsigned char value, size_t n), (va, value, n))           \
    X(cuMemsetD32_v2, CTX, (xs_cu_ptr va, unsigned value, size_t n), (va, value, n))               \
    X(cuMemsetD8Async, INIT,                                                                       \
      (xs_cu_ptr va, unsigned char value, size_t n, xs_cu_stream stream), (va, value, n, stream))  \
    X(cuMemsetD32Async, INIT,                                                                      \
      (xs_cu_ptr va, unsigned value, size_t n, xs_cu_stream stream), (va, value, n, stream))       \
    X(cuMemcpyDtoH_v2, CTX, (void *dst, xs_cu_ptr src, size_t bytes), (dst, src, bytes))           \
    X(cuMemcpyHtoD_v2, CTX, (xs_cu_ptr dst, const void *src, size_t bytes), (dst, src, bytes))     \
    X(cuMemcpyDtoD_v2, CTX, (xs_cu_ptr dst, xs_cu_ptr src, size_t bytes), (dst, src, bytes))       \
    X(cuMemcpyDtoHAsync_v2, INIT,                                                                  \
      (void *dst, xs_cu_ptr src, size_t bytes, xs_cu_stream stream), (dst, src, bytes, stream))    \
    X(cuMemcpyHtoDAsync_v2, INIT,                                                                  \
      (xs_cu_ptr dst, const void *src, size_t bytes, xs_cu_stream stream),                         \
      (dst, src, bytes, stream))                                                                   \
    X(cuMemcpyDtoDAsync_v2, INIT,                                                                  \
      (xs_cu_ptr dst, xs_cu_ptr src, size_t bytes, xs_cu_stream stream),                           \
      (dst, src, bytes, stream))                                                                   \
    X(cuLaunchHostFunc, INIT, (xs_cu_stream stream, xs_cu_host_fn fn, void *data),                 \
      (stream, fn, data))                                                                          \
    /* streams and events */                                                                       \
    X(cuStreamCreate, CTX, (xs_cu_stream *stream, unsigned flags), (stream, flags))                \
    X(cuStreamCreateWithPriority, CTX, (xs_cu_stream *stream, unsigned flags, int priority),       \
      (stream, flags, priority))                                                                   \
    X(cuStreamDestroy_v2, INIT, (xs_cu_stream stream), (stream))                                   \
    X(cuStreamSynchronize, INIT, (xs_cu_stream stream), (stream))                                  \
    X(cuStreamQuery, INIT, (xs_cu_stream stream), (stream))                                        \
    X(cuStreamWaitEvent, INIT, (xs_cu_stream stream, xs_cu_event event, unsigned flags),           \
      (stream, event, flags))                                                                      \
    X(cuStreamGetId, INIT_CB, (xs_cu_stream stream, unsigned long long *id), (stream, id))         \
    X(cuStreamGetFlags, INIT_CB, (xs_cu_stream stream, unsigned *flags), (stream, flags))          \
    X(cuStreamGetCtx, INIT_CB, (xs_cu_stream stream, xs_cu_context *ctx), (stream, ctx))           \
    X(cuEventCreate, CTX, (xs_cu_event *event, unsigned flags), (event, flags))                    \
    X(cuEventDestroy_v2, INIT, (xs_cu_event event), (event))                                       \
    X(cuEventRecord, INIT, (xs_cu_event event, xs_cu_stream stream), (event, stream))              \
    X(cuEventQuery, INIT_CB, (xs_cu_event event), (event))                                         \
    X(cuEventSynchronize, INIT, (xs_cu_event event), (event))                                      \
    /* capture and graphs */                                                                       \
    X(cuStreamIsCapturing, INIT_CB, (xs_cu_stream stream, int *status), (stream, status))          \
    X(cuStreamBeginCapture_v2, INIT, (xs_cu_stream stream, int mode), (stream, mode))              \
    X(cuStreamEndCapture, INIT, (xs_cu_stream stream, xs_cu_graph *graph), (stream, graph))        \
    X(cuThreadExchangeStreamCaptureMode, INIT_CB, (int *mode), (mode))                             \
    X(cuGraphDestroy, INIT, (xs_cu_graph graph), (graph))                                          \
    X(cuGraphInstantiateWithFlags, INIT,                                                           \
      (xs_cu_graph_exec *exec, xs_cu_graph graph, unsigned long long flags), (exec, graph, flags)) \
    X(cuGraphExecDestroy, INIT, (xs_cu_graph_exec exec), (exec))                                   \
    X(cuGraphLaunch, INIT, (xs_cu_graph_exec exec, xs_cu_stream stream), (exec, stream))

/* PT(stream) turns the NULL stream into the thread's own. Calls count under the base symbol. */
#define XS_SIM_PTSZ_LIST(P)                                                                        \
    P(cuMemAllocAsync_ptsz, cuMemAllocAsync, (xs_cu_ptr *va, size_t bytes, xs_cu_stream stream),   \
      (va, bytes, PT(stream)))                                                                     \
    P(cuMemFreeAsync_ptsz, cuMemFreeAsync, (xs_cu_ptr va, xs_cu_stream stream), (va, PT(stream)))  \
    P(cuMemsetD8Async_ptsz, cuMemsetD8Async,                                                       \
      (xs_cu_ptr va, unsigned char value, size_t n, xs_cu_stream stream),                          \
      (va, value, n, PT(stream)))                                                                  \
    P(cuMemsetD32Async_ptsz, cuMemsetD32Async,                                                     \
      (xs_cu_ptr va, unsigned value, size_t n, xs_cu_stream stream), (va, value, n, PT(stream)))   \
    P(cuMemcpyDtoHAsync_v2_ptsz, cuMemcpyDtoHAsync_v2,                                             \
      (void *dst, xs_cu_ptr src, size_t bytes, xs_cu_stream stream),                               \
      (dst, src, bytes, PT(stream)))                                                               \
    P(cuMemcpyHtoDAsync_v2_ptsz, cuMemcpyHtoDAsync_v2,                                             \
      (xs_cu_ptr dst, const void *src, size_t bytes, xs_cu_stream stream),                         \
      (dst, src, bytes, PT(stream)))                                                               \
    P(cuMemcpyDtoDAsync_v2_ptsz, cuMemcpyDtoDAsync_v2,                                             \
      (xs_cu_ptr dst, xs_cu_ptr src, size_t bytes, xs_cu_stream stream),                           \
      (dst, src, bytes, PT(stream)))                                                               \
    P(cuLaunchHostFunc_ptsz, cuLaunchHostFunc,                                                     \
      (xs_cu_stream stream, xs_cu_host_fn fn, void *data), (PT(stream), fn, data))                 \
    P(cuStreamSynchronize_ptsz, cuStreamSynchronize, (xs_cu_stream stream), (PT(stream)))          \
    P(cuStreamQuery_ptsz, cuStreamQuery, (xs_cu_stream stream), (PT(stream)))                      \
    P(cuStreamWaitEvent_ptsz, cuStreamWaitEvent,                                                   \
      (xs_cu_stream stream, xs_cu_event event, unsigned flags), (PT(stream), event, flags))        \
    P(cuStreamGetId_ptsz, cuStreamGetId, (xs_cu_stream stream, unsigned long long *id),            \
      (PT(stream), id))                                                                            \
    P(cuStreamIsCapturing_ptsz, cuStreamIsCapturing, (xs_cu_stream stream, int *status),           \
      (PT(stream), status))                                                                        \
    P(cuStreamBeginCapture_v2_ptsz, cuStreamBeginCapture_v2, (xs_cu_stream stream, int mode),      \
      (PT(stream), mode))                                                                          \
    P(cuStreamEndCapture_ptsz, cuStreamEndCapture, (xs_cu_stream stream, xs_cu_graph *graph),      \
      (PT(stream), graph))                                                                         \
    P(cuGraphLaunch_ptsz, cuGraphLaunch, (xs_cu_graph_exec exec, xs_cu_stream stream),             \
      (exec, PT(stream)))                                                                          \
    P(cuEventRecord_ptsz, cuEventRecord, (xs_cu_event event, xs_cu_stream stream),                 \
      (event, PT(stream)))
/* clang-format on */

#endif
