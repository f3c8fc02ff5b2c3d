/* Medians and percentiles of a few numbers. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "bench/bench_stats.h"

static void median_is_the_middle(void **state)
{
    double odd[] = {5, 1, 9};
    double even[] = {4, 1, 3, 2};
    double one[] = {7};
    (void)state;
    assert_true(xs_bench_median(odd, 3) == 5);
    assert_true(xs_bench_median(even, 4) == 2.5);
    assert_true(xs_bench_median(one, 1) == 7);
    assert_true(isnan(xs_bench_median(one, 0)));
}

static void median_does_not_see_an_outlier(void **state)
{
    double values[] = {10, 11, 1e12, 12, 9};
    (void)state;
    assert_true(xs_bench_median(values, 5) == 11);
}

static void percentile_is_the_nearest_rank(void **state)
{
    double values[1000];
    (void)state;
    for (size_t i = 0; i < 1000; i++)
        values[i] = (double)(1000 - i); /* 1 .. 1000, the wrong way round */
    assert_true(xs_bench_percentile(values, 1000, 0.5) == 500);
    assert_true(xs_bench_percentile(values, 1000, 0.999) == 999);
    assert_true(xs_bench_percentile(values, 1000, 0.9991) == 1000);
    assert_true(xs_bench_percentile(values, 1000, 1) == 1000);
    assert_true(xs_bench_percentile(values, 1000, 0) == 1);
    assert_true(xs_bench_percentile(values, 1, 0.999) == 1);
    assert_true(isnan(xs_bench_percentile(values, 0, 0.5)));
}

static void nan_sorts_last(void **state)
{
    double values[] = {NAN, 2, NAN, 1, 3};
    (void)state;
    assert_true(xs_bench_median(values, 5) == 3);
    assert_true(isnan(values[3]) && isnan(values[4]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(median_is_the_middle),
        cmocka_unit_test(median_does_not_see_an_outlier),
        cmocka_unit_test(percentile_is_the_nearest_rank),
        cmocka_unit_test(nan_sorts_last),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
