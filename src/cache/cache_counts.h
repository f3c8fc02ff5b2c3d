/* What a thread has allocated and freed on a device since its counts were last added to the device's. */
#ifndef XS_CACHE_CACHE_COUNTS_H
#define XS_CACHE_CACHE_COUNTS_H

#include <stdatomic.h>

#include "base/base.h"

/* Only the owner writes them, or who holds the cache's lock; others may read them at any time. */
struct xs_cache_counts {
    _Atomic uint64_t allocs, frees;
    _Atomic uint64_t misses;                      /* of the allocs */
    _Atomic uint64_t requested_in, requested_out; /* bytes of allocs; bytes of frees */
    _Atomic uint64_t allocated_in, allocated_out;
    _Atomic int64_t requested_peak, allocated_peak, blocks_peak; /* highest in - out */
};

#define XS_READ(x)         atomic_load_explicit(&(x), memory_order_relaxed)
#define XS_WRITE(x, value) atomic_store_explicit(&(x), (value), memory_order_relaxed)

static inline int64_t xs_cache_requested(const struct xs_cache_counts *n)
{
    return (int64_t)(XS_READ(n->requested_in) - XS_READ(n->requested_out));
}

static inline int64_t xs_cache_allocated(const struct xs_cache_counts *n)
{
    return (int64_t)(XS_READ(n->allocated_in) - XS_READ(n->allocated_out));
}

static inline void xs_cache_count_in(struct xs_cache_counts *n, size_t requested, size_t bytes)
{
    XS_WRITE(n->allocs, XS_READ(n->allocs) + 1);
    XS_WRITE(n->requested_in, XS_READ(n->requested_in) + requested);
    XS_WRITE(n->allocated_in, XS_READ(n->allocated_in) + bytes);
    int64_t r = xs_cache_requested(n), a = xs_cache_allocated(n);
    int64_t b = (int64_t)(XS_READ(n->allocs) - XS_READ(n->frees));
    XS_WRITE(n->blocks_peak, b > XS_READ(n->blocks_peak) ? b : XS_READ(n->blocks_peak));
    XS_WRITE(n->requested_peak, r > XS_READ(n->requested_peak) ? r : XS_READ(n->requested_peak));
    XS_WRITE(n->allocated_peak, a > XS_READ(n->allocated_peak) ? a : XS_READ(n->allocated_peak));
}

static inline void xs_cache_count_out(struct xs_cache_counts *n, size_t requested, size_t bytes)
{
    XS_WRITE(n->frees, XS_READ(n->frees) + 1);
    XS_WRITE(n->requested_out, XS_READ(n->requested_out) + requested);
    XS_WRITE(n->allocated_out, XS_READ(n->allocated_out) + bytes);
}

#endif
