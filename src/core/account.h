/*
 * The counters that every allocation and free touches. A slow path books on the device's gauges, a hit on
 * its thread's own counts (cache/cache.h); the sum of both is what is true. Whoever is on a slow path first
 * adds its own counts, and takes those of other threads into account for the peaks. So peaks are exact for
 * one thread, and for several within what they hand out and free between two slow paths.
 *
 * Under HEAP.
 */
#ifndef XS_CORE_ACCOUNT_H
#define XS_CORE_ACCOUNT_H

#include "core/device.h"

/* `own`: the calling thread's cache, or NULL. */
void xs_account_alloc(struct xs_device *dev, struct xs_cache *own, size_t requested, size_t bytes);
/* waiting: the block stays active until other streams have passed it. */
void xs_account_free(struct xs_device *dev, struct xs_cache *own, size_t requested, size_t bytes,
                     bool waiting);
/* A block that was waiting is so no more. */
void xs_account_settled(struct xs_device *dev, size_t bytes);

void xs_account_reserve(struct xs_device *dev, size_t bytes);
void xs_account_release(struct xs_device *dev, size_t bytes);

/* Adds a cache's counts, which the caller has taken out of it. */
void xs_account_merge(struct xs_device *dev, const struct xs_cache_counts *counts);
/* Takes the counts of all caches and adds them: the gauges alone are true then. Under CACHES too. */
void xs_account_merge_all(struct xs_device *dev, const struct xs_cache *own);

#endif
