#include "base/fmt.h"
#include "report/stats_print.h"
#include "stats/stats.h"

#define WIDTH 75

static void rule(struct xs_out *out, char c)
{
    char line[WIDTH + 1];
    for (unsigned i = 0; i < WIDTH; i++)
        line[i] = c;
    line[WIDTH] = '\0';
    xs_out_printf(out, "|%s|\n", line);
}

/* ---- torch's table: units step up while the current value of the row is large ------------------- */

static void size_cell(struct xs_out *out, uint64_t bytes, double unit_for)
{
    static const char *const units[] = {"B  ", "KiB", "MiB", "GiB", "TiB", "PiB"};
    unsigned i = 0;
    for (; i + 1 < XS_COUNT_OF(units) && unit_for >= 768.0 * 1024; i++) {
        unit_for /= 1024;
        bytes /= 1024;
    }
    xs_out_printf(out, " %6llu %s |", (unsigned long long)bytes, units[i]);
}

static void count_cell(struct xs_out *out, uint64_t count, double unit_for)
{
    static const char *const units[] = {" ", "K", "M"};
    unsigned i = 0;
    for (; i + 1 < XS_COUNT_OF(units) && unit_for >= 750.0 * 1000; i++) {
        unit_for /= 1000;
        count /= 1000;
    }
    xs_out_printf(out, " %7llu %s  |", (unsigned long long)count, units[i]);
}

typedef void (*cell)(struct xs_out *out, uint64_t value, double unit_for);

static void gauge_row(struct xs_out *out, const char *name, const struct xseg_gauge *g, cell print)
{
    const uint64_t values[] = {g->current, g->peak, g->allocated, g->freed};
    rule(out, '-');
    xs_out_printf(out, "| %-21s |", name);
    for (unsigned i = 0; i < XS_COUNT_OF(values); i++)
        print(out, values[i], (double)values[i]);
    xs_out_text(out, "\n");
}

static void print_gauges(struct xs_out *out, const struct xseg_stats *s)
{
    const struct xseg_gauge active = xs_stats_active_blocks(s);
    gauge_row(out, "Allocated memory", &s->allocated_bytes, size_cell);
    gauge_row(out, "Active memory", &s->active_bytes, size_cell);
    gauge_row(out, "Requested memory", &s->requested_bytes, size_cell);
    gauge_row(out, "GPU reserved memory", &s->reserved_bytes, size_cell);
    gauge_row(out, "Cached memory", &s->cached_bytes, size_cell);
    gauge_row(out, "Non-releasable memory", &s->unreleasable_bytes, size_cell);
    gauge_row(out, "Allocations", &s->allocations, count_cell);
    gauge_row(out, "Active allocs", &active, count_cell);
    gauge_row(out, "GPU reserved segments", &s->segments, count_cell);
    gauge_row(out, "Extents", &s->extents, count_cell);
    gauge_row(out, "Non-releasable allocs", &s->unreleasable_blocks, count_cell);
}

/* ---- what torch's table does not have ----------------------------------------------------------- */

static void heading(struct xs_out *out, const char *text)
{
    rule(out, '=');
    xs_out_printf(out, "| %-73s |\n", text);
    rule(out, '-');
}

static void line(struct xs_out *out, const char *name, const char *value, const char *note)
{
    xs_out_printf(out, "| %-42s | %12s | %12s  |\n", name, value, note);
}

static void bytes_line(struct xs_out *out, const char *name, uint64_t bytes, uint64_t whole)
{
    char text[XS_FMT_BYTES] = "unknown", note[16] = "";
    if (bytes != UINT64_MAX)
        xs_fmt_bytes(text, bytes);
    if (whole && bytes != UINT64_MAX)
        snprintf(note, sizeof(note), "%.2f %%", xs_stats_percent(bytes, whole));
    line(out, name, text, note);
}

static void count_line(struct xs_out *out, const char *name, uint64_t count)
{
    char text[24];
    snprintf(text, sizeof(text), "%llu", (unsigned long long)count);
    line(out, name, text, "");
}

static void print_causes(struct xs_out *out, const struct xseg_stats *s)
{
    uint64_t reserved = s->reserved_bytes.current;
    heading(out, "Fragmentation: reserved and not allocated, by cause, of reserved");
    bytes_line(out, "All", reserved - s->allocated_bytes.current, reserved);
    bytes_line(out, "Block caches of threads", s->frag_cache_bytes, reserved);
    bytes_line(out, "Free", s->frag_free_bytes, reserved);
    bytes_line(out, "Extents that are mapped nowhere", s->frag_idle_bytes, reserved);
    bytes_line(out, "Free, in extents that live blocks pin", s->frag_pinned_bytes, reserved);
    bytes_line(out, "Remainders of classic segments", s->frag_split_bytes, reserved);
    bytes_line(out, "Freed on other streams, not yet passed", s->frag_stream_bytes, reserved);
    bytes_line(out, "Kept by private pools", s->frag_pool_bytes, reserved);
    bytes_line(out, "Waiting for the GPU", s->frag_waiting_bytes, reserved);
    count_line(out, "Pinned extents", s->pinned_extents);
}

static void print_room(struct xs_out *out, const struct xseg_stats *s)
{
    heading(out, "Room: the largest request that could be served");
    bytes_line(out, "Now, without new memory or mapping", s->largest_free_bytes, 0);
    bytes_line(out, "Without new memory", s->largest_reclaimable_bytes, 0);
    bytes_line(out, "With all that limit and device leave", s->largest_obtainable_bytes, 0);
    if (s->limit_bytes == UINT64_MAX)
        line(out, "Limit", "none", "");
    else
        bytes_line(out, "Limit", s->limit_bytes, 0);
    bytes_line(out, "Device, total", s->device_total_bytes, 0);
    bytes_line(out, "Device, free", s->device_free_bytes, s->device_total_bytes);
    bytes_line(out, "Not ours: contexts, other processes", s->other_bytes, s->device_total_bytes);
}

static void print_paths(struct xs_out *out, const struct xseg_stats *s)
{
    char note[24];
    uint64_t all = s->allocations.allocated;
    heading(out, "How requests were served");
    snprintf(note, sizeof(note), "%.3f %%", xs_stats_percent(s->cache_hits, all));
    line(out, "Cache hit rate", note, "");
#define RUNG(name, unit, text) {#name, s->name},
#define SKIP(name, unit, text)
    const struct {
        const char *name;
        uint64_t count;
    } counters[] = {XSEG_STATS_LIST(SKIP, SKIP, RUNG)};
#undef RUNG
#undef SKIP
    for (unsigned i = 0; i < XS_COUNT_OF(counters); i++)
        count_line(out, counters[i].name, counters[i].count);
    bytes_line(out, "Records in host memory", s->metadata_bytes, 0);
}

void xs_stats_print_text(struct xs_out *out, const struct xseg_stats *s)
{
    rule(out, '=');
    xs_out_printf(out, "|                  xseg CUDA memory summary, device ID %-20d |\n",
                  s->device);
    rule(out, '-');
    xs_out_printf(out, "|            CUDA OOMs: %-12llu |        cudaMalloc retries: %-8llu  |\n",
                  (unsigned long long)s->out_of_memory, (unsigned long long)s->alloc_retries);
    rule(out, '=');
    xs_out_text(out,
                "|        Metric         | Cur Usage  | Peak Usage | Tot Alloc  | Tot Freed  |\n");
    print_gauges(out, s);
    print_causes(out, s);
    print_room(out, s);
    print_paths(out, s);
    rule(out, '=');
}

double xs_stats_percent(uint64_t part, uint64_t whole)
{
    return whole ? 100.0 * (double)part / (double)whole : 0;
}
