/*
 * The entries that give work to a stream, as rows of entry_list.h; each has a twin, _ptsz, whose NULL stream is
 * the calling thread's. And those of the synchronous entries that do the same for the thread's stream, _ptds.
 *
 *   W(symbol, since, (parameters), (arguments), stream)
 *   T(symbol, since, (parameters), (arguments))
 */
#ifndef XS_PRELOAD_WORK_LIST_H
#define XS_PRELOAD_WORK_LIST_H

#include "driver/cuda_abi.h"

struct xs_launch_config { /* the head of CUlaunchConfig */
    unsigned grid[3];
    unsigned block[3];
    unsigned shared_bytes;
    xs_cu_stream stream;
};

/* clang-format off */
#define XS_ENTRY_WORK_LIST(W)                                                                      \
    W(cuLaunchKernel, 4000,                                                                        \
      (void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,      \
       unsigned shared, xs_cu_stream stream, void **params, void **extra),                         \
      (f, gx, gy, gz, bx, by, bz, shared, stream, params, extra), stream)                          \
    W(cuLaunchKernelEx, 11060,                                                                     \
      (const struct xs_launch_config *config, void *f, void **params, void **extra),               \
      (config, f, params, extra), config ? config->stream : NULL)                                  \
    W(cuLaunchCooperativeKernel, 9000,                                                             \
      (void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,      \
       unsigned shared, xs_cu_stream stream, void **params),                                       \
      (f, gx, gy, gz, bx, by, bz, shared, stream, params), stream)                                 \
    W(cuLaunchHostFunc, 10000, (xs_cu_stream stream, void *fn, void *data), (stream, fn, data),    \
      stream)                                                                                      \
    W(cuStreamAddCallback, 5000, (xs_cu_stream stream, void *fn, void *data, unsigned flags),      \
      (stream, fn, data, flags), stream)                                                           \
    W(cuGraphLaunch, 10000, (void *exec, xs_cu_stream stream), (exec, stream), stream)             \
    W(cuGraphUpload, 11010, (void *exec, xs_cu_stream stream), (exec, stream), stream)             \
    W(cuMemcpyAsync, 4000, (xs_cu_ptr to, xs_cu_ptr from, size_t bytes, xs_cu_stream stream),      \
      (to, from, bytes, stream), stream)                                                           \
    W(cuMemcpyPeerAsync, 4000,                                                                     \
      (xs_cu_ptr to, xs_cu_context to_ctx, xs_cu_ptr from, xs_cu_context from_ctx, size_t bytes,   \
       xs_cu_stream stream), (to, to_ctx, from, from_ctx, bytes, stream), stream)                  \
    W(cuMemcpyHtoDAsync_v2, 3020,                                                                  \
      (xs_cu_ptr to, const void *from, size_t bytes, xs_cu_stream stream),                         \
      (to, from, bytes, stream), stream)                                                           \
    W(cuMemcpyDtoHAsync_v2, 3020, (void *to, xs_cu_ptr from, size_t bytes, xs_cu_stream stream),   \
      (to, from, bytes, stream), stream)                                                           \
    W(cuMemcpyDtoDAsync_v2, 3020,                                                                  \
      (xs_cu_ptr to, xs_cu_ptr from, size_t bytes, xs_cu_stream stream),                           \
      (to, from, bytes, stream), stream)                                                           \
    W(cuMemcpyHtoAAsync_v2, 3020,                                                                  \
      (void *to, size_t offset, const void *from, size_t bytes, xs_cu_stream stream),              \
      (to, offset, from, bytes, stream), stream)                                                   \
    W(cuMemcpyAtoHAsync_v2, 3020,                                                                  \
      (void *to, void *from, size_t offset, size_t bytes, xs_cu_stream stream),                    \
      (to, from, offset, bytes, stream), stream)                                                   \
    W(cuMemcpy2DAsync_v2, 3020, (const void *copy, xs_cu_stream stream), (copy, stream), stream)   \
    W(cuMemcpy3DAsync_v2, 3020, (const void *copy, xs_cu_stream stream), (copy, stream), stream)   \
    W(cuMemcpy3DPeerAsync, 4000, (const void *copy, xs_cu_stream stream), (copy, stream), stream)  \
    W(cuMemcpyBatchAsync, 12080,                                                                   \
      (xs_cu_ptr *to, xs_cu_ptr *from, size_t *bytes, size_t n, void *attrs, size_t *indexes,      \
       size_t n_attrs, size_t *failed, xs_cu_stream stream),                                       \
      (to, from, bytes, n, attrs, indexes, n_attrs, failed, stream), stream)                       \
    W(cuMemcpyBatchAsync_v2, 13000,                                                                \
      (xs_cu_ptr *to, xs_cu_ptr *from, size_t *bytes, size_t n, void *attrs, size_t *indexes,      \
       size_t n_attrs, xs_cu_stream stream),                                                       \
      (to, from, bytes, n, attrs, indexes, n_attrs, stream), stream)                               \
    W(cuMemcpy3DBatchAsync, 12080,                                                                 \
      (size_t n, void *ops, size_t *failed, unsigned long long flags, xs_cu_stream stream),        \
      (n, ops, failed, flags, stream), stream)                                                     \
    W(cuMemcpy3DBatchAsync_v2, 13000,                                                              \
      (size_t n, void *ops, unsigned long long flags, xs_cu_stream stream),                        \
      (n, ops, flags, stream), stream)                                                             \
    W(cuMemsetD8Async, 3020,                                                                       \
      (xs_cu_ptr va, unsigned char value, size_t n, xs_cu_stream stream), (va, value, n, stream),  \
      stream)                                                                                      \
    W(cuMemsetD16Async, 3020,                                                                      \
      (xs_cu_ptr va, unsigned short value, size_t n, xs_cu_stream stream), (va, value, n, stream), \
      stream)                                                                                      \
    W(cuMemsetD32Async, 3020,                                                                      \
      (xs_cu_ptr va, unsigned value, size_t n, xs_cu_stream stream), (va, value, n, stream),       \
      stream)                                                                                      \
    W(cuMemsetD2D8Async, 3020,                                                                     \
      (xs_cu_ptr va, size_t pitch, unsigned char value, size_t w, size_t h, xs_cu_stream stream),  \
      (va, pitch, value, w, h, stream), stream)                                                    \
    W(cuMemsetD2D16Async, 3020,                                                                    \
      (xs_cu_ptr va, size_t pitch, unsigned short value, size_t w, size_t h, xs_cu_stream stream), \
      (va, pitch, value, w, h, stream), stream)                                                    \
    W(cuMemsetD2D32Async, 3020,                                                                    \
      (xs_cu_ptr va, size_t pitch, unsigned value, size_t w, size_t h, xs_cu_stream stream),       \
      (va, pitch, value, w, h, stream), stream)                                                    \
    W(cuMemPrefetchAsync, 8000,                                                                    \
      (xs_cu_ptr va, size_t bytes, xs_cu_device device, xs_cu_stream stream),                      \
      (va, bytes, device, stream), stream)                                                         \
    W(cuMemPrefetchAsync_v2, 12020,                                                                \
      (xs_cu_ptr va, size_t bytes, struct xs_cu_location where, unsigned flags,                    \
       xs_cu_stream stream), (va, bytes, where, flags, stream), stream)                            \
    W(cuStreamWriteValue32, 8000,                                                                  \
      (xs_cu_stream stream, xs_cu_ptr va, uint32_t value, unsigned flags),                         \
      (stream, va, value, flags), stream)                                                          \
    W(cuStreamWriteValue64, 9000,                                                                  \
      (xs_cu_stream stream, xs_cu_ptr va, uint64_t value, unsigned flags),                         \
      (stream, va, value, flags), stream)                                                          \
    W(cuStreamWaitValue32, 8000,                                                                   \
      (xs_cu_stream stream, xs_cu_ptr va, uint32_t value, unsigned flags),                         \
      (stream, va, value, flags), stream)                                                          \
    W(cuStreamWaitValue64, 9000,                                                                   \
      (xs_cu_stream stream, xs_cu_ptr va, uint64_t value, unsigned flags),                         \
      (stream, va, value, flags), stream)                                                          \
    W(cuStreamBatchMemOp, 8000, (xs_cu_stream stream, unsigned n, void *ops, unsigned flags),      \
      (stream, n, ops, flags), stream)                                                             \
    W(cuStreamWriteValue32_v2, 11070,                                                              \
      (xs_cu_stream stream, xs_cu_ptr va, uint32_t value, unsigned flags),                         \
      (stream, va, value, flags), stream)                                                          \
    W(cuStreamWriteValue64_v2, 11070,                                                              \
      (xs_cu_stream stream, xs_cu_ptr va, uint64_t value, unsigned flags),                         \
      (stream, va, value, flags), stream)                                                          \
    W(cuStreamWaitValue32_v2, 11070,                                                               \
      (xs_cu_stream stream, xs_cu_ptr va, uint32_t value, unsigned flags),                         \
      (stream, va, value, flags), stream)                                                          \
    W(cuStreamWaitValue64_v2, 11070,                                                               \
      (xs_cu_stream stream, xs_cu_ptr va, uint64_t value, unsigned flags),                         \
      (stream, va, value, flags), stream)                                                          \
    W(cuStreamBatchMemOp_v2, 11070,                                                                \
      (xs_cu_stream stream, unsigned n, void *ops, unsigned flags), (stream, n, ops, flags),       \
      stream)                                                                                      \
    W(cuSignalExternalSemaphoresAsync, 10000,                                                      \
      (const void *semaphores, const void *params, unsigned n, xs_cu_stream stream),               \
      (semaphores, params, n, stream), stream)                                                     \
    W(cuWaitExternalSemaphoresAsync, 10000,                                                        \
      (const void *semaphores, const void *params, unsigned n, xs_cu_stream stream),               \
      (semaphores, params, n, stream), stream)                                                     \
    W(cuGraphicsMapResources, 3000, (unsigned n, void **resources, xs_cu_stream stream),           \
      (n, resources, stream), stream)                                                              \
    W(cuGraphicsUnmapResources, 3000, (unsigned n, void **resources, xs_cu_stream stream),         \
      (n, resources, stream), stream)

#define XS_ENTRY_THREAD_LIST(T)                                                                    \
    T(cuMemcpy_ptds, 7000, (xs_cu_ptr to, xs_cu_ptr from, size_t bytes), (to, from, bytes))        \
    T(cuMemcpyDtoD_v2_ptds, 7000, (xs_cu_ptr to, xs_cu_ptr from, size_t bytes), (to, from, bytes)) \
    T(cuMemcpyHtoD_v2_ptds, 7000, (xs_cu_ptr to, const void *from, size_t bytes),                  \
      (to, from, bytes))                                                                           \
    T(cuMemcpyDtoH_v2_ptds, 7000, (void *to, xs_cu_ptr from, size_t bytes), (to, from, bytes))     \
    T(cuMemcpy2D_v2_ptds, 7000, (const void *copy), (copy))                                        \
    T(cuMemcpy2DUnaligned_v2_ptds, 7000, (const void *copy), (copy))                               \
    T(cuMemcpy3D_v2_ptds, 7000, (const void *copy), (copy))                                        \
    T(cuMemcpy3DPeer_ptds, 7000, (const void *copy), (copy))                                       \
    T(cuMemcpyPeer_ptds, 7000,                                                                     \
      (xs_cu_ptr to, xs_cu_context to_ctx, xs_cu_ptr from, xs_cu_context from_ctx, size_t bytes),  \
      (to, to_ctx, from, from_ctx, bytes))                                                         \
    T(cuMemsetD2D8_v2_ptds, 7000,                                                                  \
      (xs_cu_ptr va, size_t pitch, unsigned char value, size_t w, size_t h),                       \
      (va, pitch, value, w, h))                                                                    \
    T(cuMemsetD8_v2_ptds, 7000, (xs_cu_ptr va, unsigned char value, size_t n), (va, value, n))     \
    T(cuMemsetD16_v2_ptds, 7000, (xs_cu_ptr va, unsigned short value, size_t n), (va, value, n))   \
    T(cuMemsetD32_v2_ptds, 7000, (xs_cu_ptr va, unsigned value, size_t n), (va, value, n))
/* clang-format on */

#endif
