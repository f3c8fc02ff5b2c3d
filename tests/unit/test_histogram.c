/* The buckets of a histogram, and the percentiles read from them. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "bench/histogram.h"

static struct xs_histogram *new_histogram(void)
{
    struct xs_histogram *h = calloc(1, sizeof(*h));
    assert_non_null(h);
    return h;
}

static void buckets_follow_each_other(void **state)
{
    size_t last = 0;
    (void)state;
    for (uint64_t v = 1; v < 100000; v++) {
        size_t bucket = xs_histogram_bucket(v);
        assert_true(bucket == last || bucket == last + 1);
        last = bucket;
    }
    assert_true(xs_histogram_bucket(UINT64_MAX) == XS_HISTOGRAM_BUCKETS - 1);
    assert_true(xs_histogram_bucket((uint64_t)1 << 63) < XS_HISTOGRAM_BUCKETS);
}

static void small_values_are_exact(void **state)
{
    struct xs_histogram *h = new_histogram();
    (void)state;
    for (uint64_t v = 1; v <= 100; v++)
        xs_histogram_add(h, v);
    for (unsigned v = 1; v <= 100; v++)
        assert_true(xs_histogram_percentile(h, (v - 0.5) / 100) == v);
    free(h);
}

static void large_values_are_within_a_64th(void **state)
{
    (void)state;
    for (uint64_t v = 200; v < (uint64_t)1 << 62; v = v * 3 + 1) {
        struct xs_histogram *h = new_histogram();
        xs_histogram_add(h, v);
        xs_histogram_add(h, UINT64_MAX);
        double read = xs_histogram_percentile(h, 0.5);
        assert_true(read >= (double)v && read <= (double)v * (1 + 1.0 / 64));
        free(h);
    }
}

static void one_slow_operation_in_a_thousand(void **state)
{
    struct xs_histogram *h = new_histogram();
    (void)state;
    assert_true(isnan(xs_histogram_percentile(h, 0.999)));
    for (unsigned i = 0; i < 9990; i++)
        xs_histogram_add(h, 20);
    for (unsigned i = 0; i < 10; i++)
        xs_histogram_add(h, 5000);
    assert_true(xs_histogram_percentile(h, 0.999) == 20);
    xs_histogram_add(h, 5000);
    assert_true(xs_histogram_percentile(h, 0.999) == 5000);
    assert_true(h->max == 5000 && h->n == 10001);
    free(h);
}

static void merging_adds(void **state)
{
    struct xs_histogram *a = new_histogram();
    struct xs_histogram *b = new_histogram();
    (void)state;
    xs_histogram_add(a, 10);
    xs_histogram_add(b, 30);
    xs_histogram_add(b, 30);
    xs_histogram_merge(a, b);
    assert_true(a->n == 3 && a->max == 30);
    assert_true(xs_histogram_percentile(a, 0.3) == 10);
    assert_true(xs_histogram_percentile(a, 0.5) == 30);
    free(a);
    free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(buckets_follow_each_other),
        cmocka_unit_test(small_values_are_exact),
        cmocka_unit_test(large_values_are_within_a_64th),
        cmocka_unit_test(one_slow_operation_in_a_thousand),
        cmocka_unit_test(merging_adds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
