/*
 * The counters that every allocation and free touches. A thread with a block cache books on its own counts
 * (cache/cache.h), hit or not; they are added to the device's gauges when somebody wants to read them. So
 * peaks are exact for one thread. For several they are true to XS_CACHE_STEP for each: who has risen by that much
 * takes the slow path, and looks at what all of them have.
 *
 * Under HEAP.
 */
#ifndef XS_CORE_ACCOUNT_H
#define XS_CORE_ACCOUNT_H

#include "core/device.h"

/* `own`: the calling thread's cache, or NULL. */
void xs_account_alloc(struct xs_device *dev, struct xs_cache *own, size_t requested, size_t bytes);
/* Raises the peaks to what all threads have now, if the own has risen far enough since that was done last. */
void xs_account_look(struct xs_device *dev, struct xs_cache *own);
/* waiting: the block stays active until other streams have passed it. */
void xs_account_free(struct xs_device *dev, struct xs_cache *own, size_t requested, size_t bytes,
                     bool waiting);
/* A block that was waiting is so no more. */
void xs_account_settled(struct xs_device *dev, size_t bytes);

/* A block leaves its heap (LIVE, CACHED, WAITING), or comes back to it. */
static inline void xs_account_went_out(struct xs_device *dev, size_t bytes)
{
    dev->out_bytes += bytes;
    dev->went_out += bytes;
    dev->most_out = xs_max(dev->most_out, dev->out_bytes);
}

static inline void xs_account_came_back(struct xs_device *dev, size_t bytes)
{
    dev->out_bytes -= bytes;
    dev->came_back += bytes;
}

void xs_account_reserve(struct xs_device *dev, size_t bytes);
void xs_account_release(struct xs_device *dev, size_t bytes);

/* Adds a cache's counts, which the caller has taken out of it. */
void xs_account_merge(struct xs_device *dev, const struct xs_cache_counts *counts);
/* Takes the counts of all caches and adds them: the gauges alone are true then. Under CACHES too. */
void xs_account_merge_all(struct xs_device *dev, struct xs_cache *own);

/* Holds up every thread's hits on the device, for moments. Under CACHES too. `own`: the calling thread's cache. */
void xs_account_stop(struct xs_device *dev, struct xs_cache *own);
void xs_account_go(struct xs_device *dev, struct xs_cache *own);
/* Merges while they are held up. */
void xs_account_merge_stopped(struct xs_device *dev);

#endif
