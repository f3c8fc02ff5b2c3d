/* The counters that every allocation, free and change of reserved memory touches. Under HEAP. */
#ifndef XS_CORE_ACCOUNT_H
#define XS_CORE_ACCOUNT_H

#include "core/device.h"

/* cached = reserved - active at every moment, so each change is booked twice. */
static inline void xs_account_alloc(struct xs_device *dev, size_t requested, size_t bytes)
{
    struct xseg_stats *now = &dev->stats.now;
    xs_gauge_add(&now->requested_bytes, requested);
    xs_gauge_add(&now->allocated_bytes, bytes);
    xs_gauge_add(&now->active_bytes, bytes);
    xs_gauge_sub(&now->cached_bytes, bytes);
    xs_gauge_add(&now->allocations, 1);
}

static inline void xs_account_free(struct xs_device *dev, size_t requested, size_t bytes)
{
    struct xseg_stats *now = &dev->stats.now;
    xs_gauge_sub(&now->requested_bytes, requested);
    xs_gauge_sub(&now->allocated_bytes, bytes);
    xs_gauge_sub(&now->active_bytes, bytes);
    xs_gauge_add(&now->cached_bytes, bytes);
    xs_gauge_sub(&now->allocations, 1);
}

static inline void xs_account_reserve(struct xs_device *dev, size_t bytes)
{
    xs_gauge_add(&dev->stats.now.reserved_bytes, bytes);
    xs_gauge_add(&dev->stats.now.cached_bytes, bytes);
}

static inline void xs_account_release(struct xs_device *dev, size_t bytes)
{
    xs_gauge_sub(&dev->stats.now.reserved_bytes, bytes);
    xs_gauge_sub(&dev->stats.now.cached_bytes, bytes);
}

#endif
