#include "stats/stats.h"

#include <string.h>

void xs_gauge_add(struct xseg_gauge *gauge, uint64_t n)
{
    gauge->current += n;
    gauge->allocated += n;
    if (gauge->current > gauge->peak)
        gauge->peak = gauge->current;
}

void xs_gauge_sub(struct xseg_gauge *gauge, uint64_t n)
{
    gauge->current -= n;
    gauge->freed += n;
}

void xs_stats_reset_peaks(struct xseg_stats *stats)
{
#define GAUGE(name, unit, text) stats->name.peak = stats->name.current;
#define SKIP(name, unit, text)
    XSEG_STATS_LIST(GAUGE, SKIP, SKIP)
#undef GAUGE
}

void xs_stats_reset_totals(struct xseg_stats *stats)
{
#define GAUGE(name, unit, text)   stats->name.allocated = stats->name.freed = 0;
#define COUNTER(name, unit, text) stats->name = 0;
    XSEG_STATS_LIST(GAUGE, SKIP, COUNTER)
#undef GAUGE
#undef COUNTER
#undef SKIP
}

void xs_stats_copy_out(const struct xseg_stats *full, struct xseg_stats *out, size_t size)
{
    memcpy(out, full, xs_min(size, sizeof(*full)));
    out->size = size;
}

struct xseg_gauge xs_stats_active_blocks(const struct xseg_stats *stats)
{
    struct xseg_gauge active = stats->allocations;
    active.current += stats->waiting_blocks == UINT64_MAX ? 0 : stats->waiting_blocks;
    active.peak = xs_max(active.peak, active.current);
    active.freed = active.allocated > active.current ? active.allocated - active.current : 0;
    return active;
}
