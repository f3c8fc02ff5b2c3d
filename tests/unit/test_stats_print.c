/* The three forms of a reading. */
#include "unit.h"

#include "report/stats_print.h"
#include "stats/stats.h"

static char text[128 * 1024];

static struct xs_out_string begin(struct xs_out *out)
{
    struct xs_out_string string = {text, sizeof(text), 0};
    xs_out_begin(out, xs_out_to_text, NULL);
    return string;
}

static struct xseg_stats example(void)
{
    struct xseg_stats s = {.size = sizeof(s), .device = 3};
    s.allocated_bytes = (struct xseg_gauge){900 * XS_KIB, 3 * XS_GIB, 5 * XS_GIB, 4 * XS_GIB};
    s.requested_bytes = s.active_bytes = s.allocated_bytes;
    s.reserved_bytes = (struct xseg_gauge){1200 * XS_KIB, 3 * XS_GIB, 3 * XS_GIB, 0};
    s.allocations = (struct xseg_gauge){7, 900000, 800000, 799993};
    s.waiting_blocks = 2;
    s.frag_cache_bytes = 300 * XS_KIB;
    s.cache_hits = 600000;
    s.limit_bytes = UINT64_MAX;
    s.device_free_bytes = s.other_bytes = UINT64_MAX;
    s.rung_wait = 4;
    s.out_of_memory = 1;
    return s;
}

static void says(const char *part)
{
    if (!strstr(text, part))
        fail_msg("\"%s\" is not in:\n%s", part, text);
}

static void print_text(void)
{
    const struct xseg_stats s = example();
    struct xs_out out;
    struct xs_out_string string = begin(&out);
    out.ctx = &string;
    xs_stats_print_text(&out, &s);
    assert_true(xs_out_end(&out));
}

static void every_line_is_as_wide_as_torchs(void **state)
{
    (void)state;
    print_text();
    unsigned lines = 0;
    for (const char *line = text, *end; (end = strchr(line, '\n')); line = end + 1, lines++)
        if (end - line != 77)
            fail_msg("%d wide: %.*s", (int)(end - line), (int)(end - line), line);
    assert_true(lines > 60);
}

static void text_has_torchs_rows_and_units(void **state)
{
    (void)state;
    print_text();
    says("|                  xseg CUDA memory summary, device ID 3                    |\n");
    says("|            CUDA OOMs: 1            |        cudaMalloc retries: 0         |\n");
    says("|        Metric         | Cur Usage  | Peak Usage | Tot Alloc  | Tot Freed  |\n");
    says("| Allocated memory      |    900 KiB |   3072 MiB |   5120 MiB |   4096 MiB |\n");
    says("| Allocations           |       7    |     900 K  |     800 K  |     799 K  |\n");
    says("| Active allocs         |       9    |");
}

static void text_names_causes_and_what_is_unknown(void **state)
{
    (void)state;
    print_text();
    says("| Block caches of threads                    |   300.00 KiB |      25.00 %  |\n");
    says("| Cache hit rate                             |     75.000 % |               |\n");
    says("| Not ours: contexts, other processes        |      unknown |               |\n");
    says("| Limit                                      |         none |               |\n");
}

static void print_json(size_t max_split_size)
{
    const struct xseg_stats s = example();
    struct xs_out out;
    struct xs_json j = {.out = &out};
    struct xs_out_string string = begin(&out);
    out.ctx = &string;
    xs_stats_print_json(&j, NULL, &s, max_split_size);
    assert_true(xs_out_end(&out));
}

static size_t occurrences(const char *part)
{
    size_t n = 0;
    for (const char *at = text; (at = strstr(at, part)); at += strlen(part))
        n++;
    return n;
}

static void json_has_all_names_of_torch(void **state)
{
    (void)state;
    static const char *const metrics[] = {
        "allocation",      "segment",        "active",       "inactive_split",
        "allocated_bytes", "reserved_bytes", "active_bytes", "inactive_split_bytes",
        "requested_bytes"};
    static const char *const pools[] = {"all", "large_pool", "small_pool"};
    static const char *const fields[] = {"current", "peak", "allocated", "freed"};
    print_json(SIZE_MAX);
    for (unsigned m = 0; m < XS_COUNT_OF(metrics); m++)
        for (unsigned p = 0; p < XS_COUNT_OF(pools); p++)
            for (unsigned f = 0; f < XS_COUNT_OF(fields); f++) {
                char key[80];
                snprintf(key, sizeof(key), "\"%s.%s.%s\": ", metrics[m], pools[p], fields[f]);
                assert_int_equal(occurrences(key), 1);
            }
    says("\"allocated_bytes.all.peak\": 3221225472, ");
    says("\"active.all.current\": 9, ");
    says("\"num_ooms\": 1, ");
    says("\"num_sync_all_streams\": 4, ");
    says("\"max_split_size\": -1, ");
    says("\"oversize_segments.freed\": 0, ");
    says("\"limit_bytes\": null, ");
    says("\"cache_hit_rate\": 0.750000}}");
    print_json(5 * XS_MIB);
    says("\"max_split_size\": 5242880, ");
}

static void prometheus_has_one_type_and_a_line_for_each_sample(void **state)
{
    (void)state;
    const struct xseg_stats a = example();
    struct xseg_stats b = a;
    b.device = 4;
    b.limit_bytes = 77;
    const struct xs_stats_sample samples[] = {{"", &a}, {"pid=\"12\"", &b}};
    struct xs_out out;
    struct xs_out_string string = begin(&out);
    out.ctx = &string;
    xs_stats_print_prometheus(&out, samples, 2);
    assert_true(xs_out_end(&out));
    says("# TYPE xseg_allocated_bytes gauge\nxseg_allocated_bytes{device=\"3\"} 921600\n"
         "xseg_allocated_bytes{pid=\"12\",device=\"4\"} 921600\n");
    says("# TYPE xseg_limit_bytes gauge\nxseg_limit_bytes{pid=\"12\",device=\"4\"} 77\n");
    says("# TYPE xseg_cache_hits_total counter\nxseg_cache_hits_total{device=\"3\"} 600000\n");
}

static bool refuse(void *ctx, const char *bytes, size_t n)
{
    (void)bytes;
    *(size_t *)ctx += n;
    return false;
}

static void writing_stops_at_the_first_failure(void **state)
{
    (void)state;
    size_t offered = 0;
    struct xs_out out;
    xs_out_begin(&out, refuse, &offered);
    for (unsigned i = 0; i < 5000; i++)
        xs_out_text(&out, "0123456789");
    assert_false(xs_out_end(&out));
    assert_int_equal(offered, sizeof(out.buffer));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_line_is_as_wide_as_torchs),
        cmocka_unit_test(text_has_torchs_rows_and_units),
        cmocka_unit_test(text_names_causes_and_what_is_unknown),
        cmocka_unit_test(json_has_all_names_of_torch),
        cmocka_unit_test(prometheus_has_one_type_and_a_line_for_each_sample),
        cmocka_unit_test(writing_stops_at_the_first_failure),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
