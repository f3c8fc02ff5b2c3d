/*
 * What PyTorch calls when xseg is its allocator: the hooks of torch.cuda.memory.CUDAPluggableAllocator. The module
 * xseg_torch.py sets them all (docs/pytorch.md); these are for those who set them by hand.
 *
 * Conventions as in xseg.h; but PyTorch takes no result, so a failure goes to the log, once for each kind, and what
 * cannot be allocated is NULL or a C++ exception. None of them needs Python's lock, nor takes it.
 */
#ifndef XSEG_TORCH_H
#define XSEG_TORCH_H

#include "xseg/xseg.h"

#ifdef __cplusplus
extern "C" {
#endif

/* As PyTorch's MempoolId_t, a std::pair of two 64-bit integers: passed like this struct. */
struct xseg_torch_pool {
    uint64_t first, second;
};

/* The pair that CUDAPluggableAllocator needs. NULL where there is no memory (bytes 0 too): as the allocator of a
 * torch.cuda.MemPool, which makes room and tries again, and raises torch.OutOfMemoryError itself. */
XSEG_API void *xseg_torch_malloc(size_t bytes, int device, xseg_stream stream);
XSEG_API void xseg_torch_free(void *ptr, size_t bytes, int device, xseg_stream stream);

/* In place of xseg_torch_free() for such a MemPool: what it frees are segments, and nobody may use them again but who
 * asks the driver. So free memory goes back to it at once (xseg_empty_cache()), as far as the GPU has passed it. */
XSEG_API void xseg_torch_give_back(void *ptr, size_t bytes, int device, xseg_stream stream);

/* Called after each allocation by the hooks, on the thread that allocates and with no lock of xseg's held; NULL: nobody
 * is. For Python's call stacks. */
XSEG_API void xseg_torch_observe(void (*observer)(void *ptr, size_t bytes, int device));

/*
 * xseg_torch_malloc() for torch.cuda.memory.change_current_allocator(), where nobody looks at NULL: throws what PyTorch
 * would, c10::OutOfMemoryError with "CUDA out of memory. " and xseg's report, or c10::Error for any other failure. Where
 * this process has no libc10.so, or an old one without the names that this takes, NULL. xseg_torch_can_throw() says what
 * can be thrown: both (2), c10::Error alone, for either (1), or nothing (0).
 */
XSEG_API void *xseg_torch_malloc_or_throw(size_t bytes, int device, xseg_stream stream);
XSEG_API int xseg_torch_can_throw(void);

/* set_init_fn: loads the driver and reads the policy, so that what is wrong with them shows at the start. */
XSEG_API void xseg_torch_init(int device_count);
/* set_reset_fn: torch.cuda.empty_cache(). */
XSEG_API void xseg_torch_reset(void);
/* set_memory_fraction_fn */
XSEG_API void xseg_torch_memory_fraction(double fraction, int device);
/* set_base_alloc_fn: the allocation that begins at ptr, and its size; for any other pointer itself, and 0. */
XSEG_API void *xseg_torch_base_allocation(void *ptr, size_t *bytes);
/* set_record_stream_fn */
XSEG_API void xseg_torch_record_stream(void *ptr, xseg_stream stream);

/*
 * set_begin_allocate_to_pool, set_end_allocate_to_pool_fn, set_release_pool: from begin to end, requests on streams
 * that the filter names are served from a private pool (xseg/pools.h) of that id; each begin wants a release, and with the
 * last the pool is destroyed. The captures are announced (xseg_capture()).
 *
 * filter: a std::function<bool(cudaStream_t)> by value, which is to say the address of one. It is copied and called by
 * the layout of GNU's C++ library, the same on x86-64 and aarch64 since GCC 5, and that which PyTorch is built with on
 * Linux; so no C++ compiler is needed to build xseg. NULL: every stream.
 */
XSEG_API void xseg_torch_begin_allocate_to_pool(int device, struct xseg_torch_pool id,
                                                const void *filter);
XSEG_API void xseg_torch_end_allocate_to_pool(int device, struct xseg_torch_pool id);
XSEG_API void xseg_torch_release_pool(int device, struct xseg_torch_pool id);

/*
 * A pool of that id, made if need be; each call wants a release. What PyTorch's allocators call createOrIncrefPool, for
 * which there is no hook. flags as xseg_pool_create(). *pool is what xseg/pools.h calls it by.
 */
XSEG_API enum xseg_result xseg_torch_create_pool(int device, struct xseg_torch_pool id,
                                                 unsigned flags, uint64_t *pool);

/* PyTorch's id of a pool that was made by these hooks. Returns whether there is one. */
XSEG_API int xseg_torch_pool_id(uint64_t pool, struct xseg_torch_pool *id);

/* The latest begin of the calling thread that has not ended will neither be ended nor released: a capture failed, and
 * PyTorch does not say so. Does both. Returns whether there was one. */
XSEG_API int xseg_torch_capture_failed(void);

/*
 * Once xseg is PyTorch's current allocator, and for as long: serves further virtual functions of it, for which there
 * is no hook: the largest free block (cuDNN's benchmark mode), copies between devices and their access to each other's
 * memory, the handles by which tensors are sent to other processes and opened there, and allocations and frees
 * themselves, which PyTorch would keep records of. Returns how many of these XSEG_TORCH_FUNCTIONS; fewer where this
 * PyTorch is not as expected, and nothing is changed for the others. To be called before anything is allocated, from
 * one thread.
 */
#define XSEG_TORCH_FUNCTIONS 10
XSEG_API int xseg_torch_adopt(void);

#ifdef __cplusplus
}
#endif

#endif
