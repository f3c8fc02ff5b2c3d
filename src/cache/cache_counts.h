/* What a thread has allocated and freed on a device since its counts were last added to the device's. */
#ifndef XS_CACHE_CACHE_COUNTS_H
#define XS_CACHE_CACHE_COUNTS_H

#include <stdatomic.h>

#include "base/base.h"

/* Only the owner writes it, or who holds the cache's lock; others may read it at any time. */
struct xs_tally {
    _Atomic uint64_t in;  /* sum of what was added */
    _Atomic int64_t net;  /* less what was taken away */
    _Atomic int64_t peak; /* highest net, at least 0 */
};

struct xs_cache_counts {
    struct xs_tally requested; /* bytes */
    struct xs_tally allocated; /* bytes, rounded */
    struct xs_tally blocks;
    _Atomic uint64_t misses; /* blocks that did not come out of a bin */
};

#define XS_READ(x)         atomic_load_explicit(&(x), memory_order_relaxed)
#define XS_WRITE(x, value) atomic_store_explicit(&(x), (value), memory_order_relaxed)

static inline uint64_t xs_tally_out(const struct xs_tally *t)
{
    return XS_READ(t->in) - (uint64_t)XS_READ(t->net);
}

static inline void xs_tally_add(struct xs_tally *t, uint64_t n)
{
    int64_t net = XS_READ(t->net) + (int64_t)n;
    XS_WRITE(t->in, XS_READ(t->in) + n);
    XS_WRITE(t->net, net);
    if (xs_unlikely(net > XS_READ(t->peak)))
        XS_WRITE(t->peak, net);
}

static inline void xs_tally_sub(struct xs_tally *t, uint64_t n)
{
    XS_WRITE(t->net, XS_READ(t->net) - (int64_t)n);
}

static inline void xs_cache_count_in(struct xs_cache_counts *n, size_t requested, size_t bytes)
{
    xs_tally_add(&n->requested, requested);
    xs_tally_add(&n->allocated, bytes);
    xs_tally_add(&n->blocks, 1);
}

static inline void xs_cache_count_out(struct xs_cache_counts *n, size_t requested, size_t bytes)
{
    xs_tally_sub(&n->requested, requested);
    xs_tally_sub(&n->allocated, bytes);
    xs_tally_sub(&n->blocks, 1);
}

#endif
