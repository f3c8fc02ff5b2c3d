#include "report/stats_print.h"
#include "stats/stats.h"

static const char *const fields[] = {"current", "peak", "allocated", "freed"};

static void one_pool(struct xs_json *j, const char *metric, const char *pool,
                     const struct xseg_gauge *g)
{
    const uint64_t values[] = {g->current, g->peak, g->allocated, g->freed};
    for (unsigned i = 0; i < XS_COUNT_OF(fields); i++) {
        char key[80];
        snprintf(key, sizeof(key), "%s%s%s%s", metric, metric[0] ? "." : "", pool, fields[i]);
        xs_json_count(j, key, values[i]);
    }
}

/* Small and large blocks live in one heap, which is torch's large pool. */
static void metric(struct xs_json *j, const char *name, const struct xseg_gauge *g)
{
    static const struct xseg_gauge none;
    one_pool(j, name, "all.", g);
    one_pool(j, name, "large_pool.", g);
    one_pool(j, name, "small_pool.", &none);
}

static void print_torch(struct xs_json *j, const struct xseg_stats *s, size_t max_split_size)
{
    const struct xseg_gauge active = xs_stats_active_blocks(s), none = {0};
    metric(j, "allocation", &s->allocations);
    metric(j, "segment", &s->segments);
    metric(j, "active", &active);
    metric(j, "inactive_split", &s->unreleasable_blocks);
    metric(j, "allocated_bytes", &s->allocated_bytes);
    metric(j, "reserved_bytes", &s->reserved_bytes);
    metric(j, "active_bytes", &s->active_bytes);
    metric(j, "inactive_split_bytes", &s->unreleasable_bytes);
    metric(j, "requested_bytes", &s->requested_bytes);
    one_pool(j, "oversize_allocations", "", &none);
    one_pool(j, "oversize_segments", "", &none);
    xs_json_count(j, "num_alloc_retries", s->alloc_retries);
    xs_json_count(j, "num_ooms", s->out_of_memory);
    xs_json_count(j, "num_sync_all_streams", s->rung_wait);
    xs_json_count(j, "num_device_alloc", s->driver_create);
    xs_json_count(j, "num_device_free", s->driver_release);
    xs_json_count(j, "num_oom_rejections", 0);
    xs_json_signed(j, "max_split_size", max_split_size == SIZE_MAX ? -1 : (int64_t)max_split_size);
}

static void gauge(struct xs_json *j, const char *name, const struct xseg_gauge *g)
{
    xs_json_open(j, name, '{');
    one_pool(j, "", "", g);
    xs_json_close(j, '}');
}

static void value(struct xs_json *j, const char *name, uint64_t n)
{
    if (n == UINT64_MAX) /* no limit, or not known */
        xs_json_null(j, name);
    else
        xs_json_count(j, name, n);
}

void xs_stats_print_json(struct xs_json *j, const char *key, const struct xseg_stats *s,
                         size_t max_split_size)
{
    xs_json_open(j, key, '{');
    print_torch(j, s, max_split_size);
    xs_json_open(j, "xseg", '{');
    xs_json_signed(j, "device", s->device);
#define GAUGE(name, unit, text) gauge(j, #name, &s->name);
#define VALUE(name, unit, text) value(j, #name, s->name);
    XSEG_STATS_LIST(GAUGE, VALUE, VALUE)
#undef GAUGE
#undef VALUE
    xs_json_real(j, "cache_hit_rate",
                 xs_stats_percent(s->cache_hits, s->allocations.allocated) / 100, 6);
    xs_json_close(j, '}');
    xs_json_close(j, '}');
}
