/*
 * Private pools: memory that is handed out to nobody else, for a captured graph or for what has to lie apart.
 *
 * A pool has its own addresses, while physical memory is the device's. As long as a pool is held, whatever is mapped
 * in it stays mapped at its address, free or not: a captured graph may be launched again. xseg_empty_cache() leaves
 * it alone. Released, its free memory serves all others, and goes back to the driver like theirs.
 *
 * Memory of a pool is freed by xseg_free() like any other, may outlive the pool, and is reused in it by the same
 * rules of stream order. During a capture that means: by the stream that freed it, at once; a block that was used on
 * further streams (xseg_record_stream()) only after the capture, since nothing tells before then that they were joined.
 * Growing during a capture is legal in all capture modes and leaves the capture valid.
 *
 * Conventions as in xseg.h. None of these calls waits for the GPU but xseg_pool_malloc(), as xseg_malloc() does.
 */
#ifndef XSEG_POOLS_H
#define XSEG_POOLS_H

#include "xseg/xseg.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A pool's name: never 0, and never given to another pool. */
typedef uint64_t xseg_pool;

enum xseg_pool_flags {
    /* Its free blocks serve the default pool before that reports out of memory. As torch.cuda.MemPool. */
    XSEG_POOL_USE_ON_OOM = 1,
    /* A block is whole granules, never cut and never joined: what was registered once stays one range. */
    XSEG_POOL_NO_SPLIT = 2
};

/* Makes a pool, held and empty. flags: a set of the above. Stands in for cudaMemPoolCreate.
 * Errors: INVALID_VALUE, HOST_MEMORY, NOT_SUPPORTED (4095 on the device), and those of a first call. */
XSEG_API enum xseg_result xseg_pool_create(int device, unsigned flags, xseg_pool *pool);

/* xseg_malloc() from this pool, whatever the thread or stream is using. Stands in for cudaMallocFromPoolAsync.
 * Errors: as xseg_malloc(); INVALID_VALUE: there is no such pool. */
XSEG_API enum xseg_result xseg_pool_malloc(void **ptr, size_t bytes, xseg_pool pool,
                                           xseg_stream stream);

/*
 * Until xseg_pool_end(), what the calling thread allocates on the pool's device comes from the pool. Other threads
 * are not concerned. Pools nest: the latest counts, begun by the thread or for the stream. A thread that ends has ended
 * its pools. Errors: INVALID_VALUE (end: not begun by this thread), HOST_MEMORY.
 */
XSEG_API enum xseg_result xseg_pool_begin(xseg_pool pool);
XSEG_API enum xseg_result xseg_pool_end(xseg_pool pool);

/* The same for all that any thread allocates on a stream. The stream must be alive at both calls. */
XSEG_API enum xseg_result xseg_pool_begin_stream(xseg_pool pool, xseg_stream stream);
XSEG_API enum xseg_result xseg_pool_end_stream(xseg_pool pool, xseg_stream stream);

/* The pool is held no more: call it once nothing will use its addresses any more without having allocated them.
 * The pool can still be used. Idempotent. Errors: INVALID_VALUE. */
XSEG_API enum xseg_result xseg_pool_release(xseg_pool pool);

/* Releases the pool, ends all its uses, also those that a failed capture has left behind, and forgets its name.
 * What is allocated from it stays valid until it is freed. Stands in for cudaMemPoolDestroy. Errors: INVALID_VALUE. */
XSEG_API enum xseg_result xseg_pool_destroy(xseg_pool pool);

/* Which pool a live allocation is from; 0: the default one, or one that was destroyed. Errors: UNKNOWN_POINTER. */
XSEG_API enum xseg_result xseg_pool_of(const void *ptr, xseg_pool *pool);

/* One reading; the words are those of xseg_get_stats(). Costs a look at each block of the pool. */
struct xseg_pool_stats {
    size_t size; /* set by the caller to sizeof(struct xseg_pool_stats) */
    int device;
    unsigned flags; /* as it was made */
    int held;
    uint64_t requested_bytes;
    uint64_t allocated_bytes;
    uint64_t active_bytes;
    uint64_t reserved_bytes; /* mapped in it */
    uint64_t allocations;
    uint64_t segments;
    /* The most since the pool was made or xseg_reset_peaks(). What threads keep cached of it, and what waits for the
     * GPU, counts as allocated here: so these are what the pool had to hold. requested_peak: to a MiB or a 64th. */
    uint64_t requested_peak;
    uint64_t allocated_peak;
    uint64_t reserved_peak;
};
/* Errors: INVALID_VALUE (no such pool, or size not set). */
XSEG_API enum xseg_result xseg_pool_get_stats(xseg_pool pool, struct xseg_pool_stats *stats);

#ifdef __cplusplus
}
#endif

#endif
