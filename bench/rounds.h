/*
 * The timing core: warms a job up, finds how many operations make a round, times rounds and, apart from
 * them, single operations. Knows nothing of allocators.
 */
#ifndef XS_BENCH_ROUNDS_H
#define XS_BENCH_ROUNDS_H

#include "bench/histogram.h"

struct xs_job {
    unsigned n_threads;
    void *ctx;
    /* On each thread, before and after everything else; either may be NULL. */
    bool (*enter)(void *ctx, unsigned thread);
    void (*leave)(void *ctx, unsigned thread);
    /* `n` operations; those of several calls follow each other. False: failed, see failure.h. */
    bool (*run)(void *ctx, unsigned thread, uint64_t n);
    /* `n` operations, each one's ticks into `h`; NULL: run(1), the cost of a run(0) taken off. */
    bool (*sample)(void *ctx, unsigned thread, uint64_t n, struct xs_histogram *h);
};

struct xs_plan {
    unsigned rounds;   /* 1 to XS_ROUNDS_MAX */
    uint64_t round_ns; /* about the length of one */
    uint64_t samples;  /* most single operations on each thread; fewer where they are slow */
};

#define XS_ROUNDS_MAX 1001

struct xs_timing {
    double ns_per_op; /* median over the rounds of wall time / operations of one thread */
    double p50_ns;    /* of single operations, all threads together */
    double p999_ns;
    double max_ns;
    uint64_t ops_per_round; /* of one thread */
};

/* False: the job failed, and *timing says nothing. */
bool xs_rounds_time(const struct xs_job *job, const struct xs_plan *plan, struct xs_timing *timing);

/* What an empty measurement takes, in ticks: to be taken off each sample. */
uint64_t xs_rounds_clock_floor(void);

#endif
