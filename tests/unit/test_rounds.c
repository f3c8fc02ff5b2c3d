/* The timing core with jobs that only count, and the generator. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include <cmocka.h>

#include "bench/crew.h"
#include "bench/failure.h"
#include "bench/random.h"
#include "bench/rounds.h"

#define THREADS 4

struct counting {
    uint64_t done[THREADS];
    atomic_uint entered;
    atomic_uint left;
    uint64_t fail_at;      /* operations of thread 1; 0: never */
    bool fails_when_alone; /* thread 1, at its first single operation */
};

static bool enter(void *ctx, unsigned thread)
{
    struct counting *c = ctx;
    (void)thread;
    atomic_fetch_add(&c->entered, 1);
    return true;
}

static void leave(void *ctx, unsigned thread)
{
    struct counting *c = ctx;
    (void)thread;
    atomic_fetch_add(&c->left, 1);
}

/* An operation takes 2 us or a little more. */
static bool run(void *ctx, unsigned thread, uint64_t n)
{
    struct counting *c = ctx;
    c->done[thread] += n;
    bool is_due = c->fail_at != 0 && c->done[thread] >= c->fail_at;
    if (thread == 1 && (is_due || (c->fails_when_alone && n == 1)))
        return xs_bench_fail("as planned");
    struct timespec begin, now;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    do
        clock_gettime(CLOCK_MONOTONIC, &now);
    while ((uint64_t)((now.tv_sec - begin.tv_sec) * 1000000000 + now.tv_nsec - begin.tv_nsec) <
           n * 2000);
    return true;
}

static const struct xs_plan plan = {.rounds = 3, .round_ns = 1000000, .samples = 100};

static void a_job_is_timed(void **state)
{
    struct counting c = {0};
    struct xs_job job = {.n_threads = 1, .ctx = &c, .enter = enter, .leave = leave, .run = run};
    struct xs_timing timing;
    (void)state;
    assert_true(xs_rounds_time(&job, &plan, &timing));
    assert_true(timing.ns_per_op >= 2000);
    assert_true(timing.p50_ns <= timing.p999_ns && timing.p999_ns <= timing.max_ns);
    assert_true(c.done[0] >= 3 * timing.ops_per_round + plan.samples);
    assert_int_equal(c.entered, 1);
    assert_int_equal(c.left, 1);
}

static void threads_do_the_same(void **state)
{
    struct counting c = {0};
    struct xs_job job = {
        .n_threads = THREADS, .ctx = &c, .enter = enter, .leave = leave, .run = run};
    struct xs_timing timing;
    (void)state;
    assert_true(xs_rounds_time(&job, &plan, &timing));
    for (unsigned i = 1; i < THREADS; i++)
        assert_true(c.done[i] == c.done[0]);
    assert_int_equal(c.left, THREADS);
}

/* Wherever it happens, the others end too: in the warm-up, in the rounds, among the samples. */
static void a_failure_on_one_thread_ends_all(void **state)
{
    static const uint64_t at[] = {1, 64, 65, 200, 0};
    (void)state;
    for (size_t i = 0; i < XS_BENCH_LENGTH(at); i++) {
        struct counting c = {.fail_at = at[i], .fails_when_alone = at[i] == 0};
        struct xs_job job = {
            .n_threads = THREADS, .ctx = &c, .enter = enter, .leave = leave, .run = run};
        struct xs_timing timing;
        xs_bench_failure_clear();
        assert_false(xs_rounds_time(&job, &plan, &timing));
        assert_string_equal(xs_bench_failure(), "as planned");
        assert_int_equal(c.left, THREADS);
    }
}

/* What std::mt19937 is required to give. */
static void the_generator_is_the_standard_one(void **state)
{
    struct xs_random r;
    uint32_t value = 0;
    (void)state;
    xs_random_seed(&r, 5489);
    for (unsigned i = 0; i < 10000; i++)
        value = xs_random_next(&r);
    assert_int_equal(value, 4123659995u);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_job_is_timed),
        cmocka_unit_test(threads_do_the_same),
        cmocka_unit_test(a_failure_on_one_thread_ends_all),
        cmocka_unit_test(the_generator_is_the_standard_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
