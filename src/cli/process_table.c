#include "cli/process_table.h"

#include "base/fmt.h"
#include "cli/table.h"
#include "report/stats_print.h"

#define GRAPH 24

/* Reserved memory of the latest samples, each against the highest of them. */
static void graph(const struct xs_page_device *d, bool boxes, char out[GRAPH * 4 + 1])
{
    static const char *const bars[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    static const char plain[] = " .:-=+*#@";
    uint64_t n = xs_min(xs_min(d->samples, XS_PAGE_SAMPLES), GRAPH), most = 1;
    char *at = out;
    for (uint64_t i = d->samples - n; i < d->samples; i++)
        most = xs_max(most, d->sample[i % XS_PAGE_SAMPLES].reserved);
    for (uint64_t i = d->samples - n; i < d->samples; i++) {
        uint64_t level = d->sample[i % XS_PAGE_SAMPLES].reserved * 8 / most;
        at += boxes ? sprintf(at, "%s", bars[level]) : sprintf(at, "%c", plain[level]);
    }
    *at = '\0';
}

static void add_line(struct xs_table *t, const struct xs_process *p, const struct xs_page_device *d)
{
    const struct xseg_stats *s = &d->stats;
    uint64_t reserved = s->reserved_bytes.current, allocated = s->allocated_bytes.current;
    char text[XS_FMT_BYTES], line[GRAPH * 4 + 1];
    double growth = xs_process_growth(d);
    xs_table_cell(t, "%d", p->pid);
    xs_table_cell(t, "%s", p->command);
    xs_table_cell(t, "%d", s->device);
    xs_table_cell(t, "%s", xs_fmt_bytes(text, reserved));
    xs_table_cell(t, "%s", xs_fmt_bytes(text, allocated));
    xs_table_cell(t, "%s", xs_fmt_bytes(text, s->cached_bytes.current));
    xs_table_cell(t, "%.1f %%", xs_stats_percent(reserved - xs_min(allocated, reserved), reserved));
    xs_table_cell(t, "%.1f %%", xs_stats_percent(s->cache_hits, s->allocations.allocated));
    xs_table_cell(t, "%s%s/s", growth < 0 ? "-" : "",
                  xs_fmt_bytes(text, (uint64_t)(growth < 0 ? -growth : growth)));
    xs_table_cell(t, "%.1f s", xs_process_age_seconds(d));
    graph(d, xs_terminal_has_boxes(stdout), line);
    xs_table_cell(t, "%s", line);
}

void xs_process_table_print(const struct xs_process *processes, size_t n, enum xs_color color)
{
    static const char *const titles[] = {"pid",       "command", "device",        "reserved",
                                         "allocated", "cached",  "frag",          "hits",
                                         "growth",    "as of",   "reserved, then"};
    struct xs_table table = {0};
    static struct xs_page_device d;
    size_t lines = 0;
    for (unsigned i = 0; i < XS_COUNT_OF(titles); i++)
        xs_table_column(&table, i == 1 || i == XS_COUNT_OF(titles) - 1, titles[i]);
    for (size_t i = 0; i < n; i++)
        for (int device = 0; device < XS_DEVICE_LIMIT; device++)
            if (xs_page_read(processes[i].page, device, &d)) {
                add_line(&table, &processes[i], &d);
                lines++;
            }
    if (lines)
        xs_table_print(&table, stdout, color);
    else
        puts("No process of yours uses a device with xseg.");
    xs_table_clear(&table);
}
