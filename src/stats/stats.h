/*
 * A device's counters. Guarded by the device's HEAP lock. What can be worked out from other state
 * (fragmentation by cause, metadata) is not counted but filled in at reading; see core/device.c.
 */
#ifndef XS_STATS_STATS_H
#define XS_STATS_STATS_H

#include "base/base.h"
#include "xseg/stats_list.h"

/* How many statistics are the driver room's process-wide counters. */
#define XS_STATS_DRIVER_COUNT 7

struct xs_stats {
    struct xseg_stats now;
    uint64_t driver_base[XS_STATS_DRIVER_COUNT]; /* what they were at the last reset of totals */
};

void xs_gauge_add(struct xseg_gauge *gauge, uint64_t n);
void xs_gauge_sub(struct xseg_gauge *gauge, uint64_t n);

/* Peaks become the current values; totals and counters become zero. */
void xs_stats_reset_peaks(struct xseg_stats *stats);
void xs_stats_reset_totals(struct xseg_stats *stats);

/* Live blocks and those that wait for the GPU. */
struct xseg_gauge xs_stats_active_blocks(const struct xseg_stats *stats);

/* Copies the consistent reading that the caller filled to one of `size` bytes. */
void xs_stats_copy_out(const struct xseg_stats *full, struct xseg_stats *out, size_t size);

#endif
