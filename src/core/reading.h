/*
 * One reading of all statistics of a device: what is counted as it happens (stats/stats.h), and what is worked out
 * from its blocks and extents, by one walk over them.
 *
 * Takes CACHES and HEAP, for as long as the walk lasts.
 */
#ifndef XS_CORE_READING_H
#define XS_CORE_READING_H

#include "core/device.h"

/* Asks the driver what is free where the device has a context; makes none. */
void xs_reading_take(struct xs_device *dev, struct xseg_stats *out);
/* The counters alone, without the walk: no driver call, and little time. What the walk would find is UINT64_MAX. */
void xs_reading_take_brief(struct xs_device *dev, struct xseg_stats *out);
void xs_reading_reset_totals(struct xs_device *dev);
void xs_reading_reset_peaks(struct xs_device *dev);
/* The driver room counts for the process; a device's totals begin here. */
void xs_reading_begin_totals(struct xs_device *dev);

/* With the counts of all threads merged and both locks held: the gauges are true. */
void xs_reading_lock(struct xs_device *dev);
void xs_reading_unlock(struct xs_device *dev);
/* The same, under those locks. asking: the pool whose largest requests are meant, elsewhere the default one;
 * free_bytes: what the driver has, UINT64_MAX where it does not say. */
void xs_reading_take_locked(struct xs_device *dev, const struct xs_pool *asking, size_t free_bytes,
                            struct xseg_stats *out);

/* What the driver has free; UINT64_MAX where it does not say, or the device has no context yet. */
size_t xs_reading_device_free(struct xs_device *dev);

#endif
