#include "report/stats_print.h"

static uint64_t read_at(const struct xseg_stats *s, size_t offset)
{
    return *(const uint64_t *)((const char *)s + offset);
}

/* One statistic of all samples. What is not known has no line. */
static void print(struct xs_out *out, const struct xs_stats_sample *samples, size_t n,
                  const char *name, const char *suffix, const char *type, const char *text,
                  size_t offset)
{
    xs_out_printf(out, "# HELP xseg_%s%s %s\n# TYPE xseg_%s%s %s\n", name, suffix, text, name,
                  suffix, type);
    for (size_t i = 0; i < n; i++) {
        uint64_t value = read_at(samples[i].stats, offset);
        if (value == UINT64_MAX)
            continue;
        xs_out_printf(out, "xseg_%s%s{%s%sdevice=\"%d\"} %llu\n", name, suffix, samples[i].labels,
                      samples[i].labels[0] ? "," : "", samples[i].stats->device,
                      (unsigned long long)value);
    }
}

void xs_stats_print_prometheus(struct xs_out *out, const struct xs_stats_sample *samples, size_t n)
{
#define AT(name) offsetof(struct xseg_stats, name)
#define GAUGE(name, unit, text)                                                                    \
    print(out, samples, n, #name, "", "gauge", text, AT(name.current));                            \
    print(out, samples, n, #name, "_peak", "gauge", "highest " #name, AT(name.peak));              \
    print(out, samples, n, #name, "_allocated_total", "counter", "all rises of " #name,            \
          AT(name.allocated));                                                                     \
    print(out, samples, n, #name, "_freed_total", "counter", "all falls of " #name, AT(name.freed));
#define VALUE(name, unit, text) print(out, samples, n, #name, "", "gauge", text, AT(name));
#define COUNTER(name, unit, text)                                                                  \
    print(out, samples, n, #name, "_total", "counter", text, AT(name));
    XSEG_STATS_LIST(GAUGE, VALUE, COUNTER)
#undef GAUGE
#undef VALUE
#undef COUNTER
#undef AT
}
