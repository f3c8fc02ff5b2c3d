/*
 * How a job is timed:
 *
 *   enter → find n: run(n) again and again until that takes half a round or more; it is the warm-up →
 *   rounds: all threads meet, run(n), meet; wall time = last end - first begin → samples → leave
 *
 * A round reads the clock twice on each thread, so the clock is not in its figure. A percentile needs the
 * time of single operations, where reading a clock costs as much as what is measured: they are taken in a
 * pass of their own, by the processor's counter, and the median of empty measurements is taken off. So
 * a p99.9 is good to a few nanoseconds, and never shares a pass with ns_per_op.
 */
#include "bench/rounds.h"

#include <math.h>
#include <stdlib.h>

#include "bench/bench_stats.h"
#include "bench/crew.h"
#include "bench/failure.h"
#include "bench/ticks.h"

#define FIRST_N       64
#define FIND_STEPS    16
#define FIND_GROWTH   16
#define FLOOR_SAMPLES 401
#define SAMPLE_ROUNDS 10   /* samples take no longer than so many rounds ... */
#define SAMPLES_MIN   1000 /* ... unless there were fewer than this */

struct span {
    _Alignas(64) uint64_t begin_ns;
    uint64_t end_ns;
};

/* One xs_rounds_time(). What is not of one thread alone is the same for all: each computes it by itself
 * from the spans, between two meetings. */
struct course {
    const struct xs_job *job;
    const struct xs_plan *plan;
    struct span spans[XS_CREW_MAX];
    struct xs_histogram *histograms; /* one for each thread */
    double *ns_per_op;               /* of each round, written by thread 0 */
    uint64_t n;                      /* of a round, written by thread 0 */
};

/* ---- rounds ---------------------------------------------------------------------------------- */

static uint64_t wall_ns(const struct course *c)
{
    uint64_t begin = c->spans[0].begin_ns;
    uint64_t end = c->spans[0].end_ns;
    for (unsigned i = 1; i < c->job->n_threads; i++) {
        begin = c->spans[i].begin_ns < begin ? c->spans[i].begin_ns : begin;
        end = c->spans[i].end_ns > end ? c->spans[i].end_ns : end;
    }
    return end > begin ? end - begin : 1;
}

/* 0: a thread has failed. */
static uint64_t time_round(struct course *c, struct xs_crew *crew, unsigned thread, uint64_t n)
{
    if (!xs_crew_meet(crew))
        return 0;
    c->spans[thread].begin_ns = xs_bench_now_ns();
    bool ok = c->job->run(c->job->ctx, thread, n);
    c->spans[thread].end_ns = xs_bench_now_ns();
    if (!ok)
        atomic_store(&crew->has_failed, true);
    return xs_crew_meet(crew) ? wall_ns(c) : 0;
}

/* The first run is cold and decides nothing. */
static uint64_t find_n(struct course *c, struct xs_crew *crew, unsigned thread)
{
    uint64_t round_ns = c->plan->round_ns;
    uint64_t n = FIRST_N;
    for (unsigned i = 0; i < FIND_STEPS; i++) {
        uint64_t wall = time_round(c, crew, thread, n);
        if (wall == 0)
            return 0;
        if (i > 0 && wall >= round_ns / 2)
            break;
        double wanted = (double)n * (double)round_ns / (double)wall;
        wanted = fmin(wanted, (double)n * FIND_GROWTH);
        n = wanted > (double)n ? (uint64_t)wanted : n;
    }
    return n;
}

/* ---- single operations ----------------------------------------------------------------------- */

static bool run_nothing(void *ctx, unsigned thread, uint64_t n)
{
    (void)ctx;
    (void)thread;
    (void)n;
    return true;
}

static uint64_t ticks_of(bool (*run)(void *, unsigned, uint64_t), void *ctx, unsigned thread,
                         uint64_t n, bool *ok)
{
    uint64_t begin = xs_ticks();
    *ok &= run(ctx, thread, n);
    return xs_ticks() - begin;
}

static uint64_t floor_of(bool (*run)(void *, unsigned, uint64_t), void *ctx, unsigned thread)
{
    double ticks[FLOOR_SAMPLES];
    bool ok = true;
    for (size_t i = 0; i < FLOOR_SAMPLES; i++)
        ticks[i] = (double)ticks_of(run, ctx, thread, 0, &ok);
    return (uint64_t)xs_bench_median(ticks, FLOOR_SAMPLES);
}

uint64_t xs_rounds_clock_floor(void)
{
    return floor_of(run_nothing, NULL, 0);
}

static bool sample_each(const struct xs_job *job, unsigned thread, uint64_t n,
                        struct xs_histogram *h)
{
    uint64_t floor = floor_of(job->run, job->ctx, thread);
    bool ok = true;
    for (uint64_t i = 0; i < n && ok; i++) {
        uint64_t ticks = ticks_of(job->run, job->ctx, thread, 1, &ok);
        xs_histogram_add(h, ticks > floor ? ticks - floor : 0);
    }
    return ok;
}

static uint64_t count_samples(const struct course *c, double ns_per_op)
{
    double affordable = SAMPLE_ROUNDS * (double)c->plan->round_ns / fmax(ns_per_op, 1);
    double n = fmin((double)c->plan->samples, fmax(affordable, SAMPLES_MIN));
    return (uint64_t)n;
}

/* ---- all of it ------------------------------------------------------------------------------- */

static bool time_rounds(struct course *c, struct xs_crew *crew, unsigned thread, uint64_t n)
{
    for (unsigned i = 0; i < c->plan->rounds; i++) {
        uint64_t wall = time_round(c, crew, thread, n);
        if (wall == 0)
            return false;
        if (thread == 0)
            c->ns_per_op[i] = (double)wall / (double)n;
    }
    return true;
}

/* Between the meetings of time_round() nobody writes ns_per_op, and every thread may read it. */
static void work(void *ctx, struct xs_crew *crew, unsigned thread)
{
    struct course *c = ctx;
    const struct xs_job *job = c->job;
    bool ok = job->enter == NULL || job->enter(job->ctx, thread);
    if (!ok)
        atomic_store(&crew->has_failed, true);
    uint64_t n = find_n(c, crew, thread);
    if (thread == 0)
        c->n = n;
    if (n != 0 && time_rounds(c, crew, thread, n) && xs_crew_meet(crew)) {
        uint64_t samples = count_samples(c, c->ns_per_op[c->plan->rounds - 1]);
        struct xs_histogram *h = &c->histograms[thread];
        ok = job->sample != NULL ? job->sample(job->ctx, thread, samples, h)
                                 : sample_each(job, thread, samples, h);
        if (!ok)
            atomic_store(&crew->has_failed, true);
        xs_crew_meet(crew);
    }
    if (job->leave != NULL)
        job->leave(job->ctx, thread);
}

static void fill(struct xs_timing *timing, struct course *c)
{
    struct xs_histogram *all = &c->histograms[0];
    for (unsigned i = 1; i < c->job->n_threads; i++)
        xs_histogram_merge(all, &c->histograms[i]);
    timing->ns_per_op = xs_bench_median(c->ns_per_op, c->plan->rounds);
    timing->p50_ns = xs_histogram_percentile(all, 0.5) * xs_ticks_ns();
    timing->p999_ns = xs_histogram_percentile(all, 0.999) * xs_ticks_ns();
    timing->max_ns = (double)all->max * xs_ticks_ns();
    timing->ops_per_round = c->n;
}

bool xs_rounds_time(const struct xs_job *job, const struct xs_plan *plan, struct xs_timing *timing)
{
    struct course c = {.job = job, .plan = plan};
    struct xs_crew crew = {.n_threads = job->n_threads, .work = work, .ctx = &c};
    c.histograms = calloc(job->n_threads, sizeof(*c.histograms));
    c.ns_per_op = calloc(plan->rounds, sizeof(*c.ns_per_op));
    bool ok = c.histograms != NULL && c.ns_per_op != NULL;
    if (!ok)
        xs_bench_fail("no memory for %u histograms", job->n_threads);
    ok = ok && xs_crew_run(&crew);
    if (ok)
        fill(timing, &c);
    free(c.histograms);
    free(c.ns_per_op);
    return ok;
}
