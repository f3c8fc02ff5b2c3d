/*
 * A few threads that do one thing together and meet in between. Thread 0 is the caller's. They meet by
 * spinning, so that all of them go on within a microsecond; where there are fewer cores than threads
 * they soon yield.
 */
#ifndef XS_BENCH_CREW_H
#define XS_BENCH_CREW_H

#include <stdatomic.h>

#include "bench/units.h"

#define XS_CREW_MAX 64

struct xs_crew {
    unsigned n_threads; /* set by the owner */
    void (*work)(void *ctx, struct xs_crew *crew, unsigned thread);
    void *ctx;
    _Alignas(64) atomic_uint arrived;
    _Alignas(64) atomic_uint phase;
    atomic_bool is_over;    /* what the latest meeting found has_failed to be */
    atomic_bool has_failed; /* set by whoever fails, before it goes to the next meeting */
};

/* Runs crew->work on every thread and waits for them. False where a thread cannot be made, and then
 * nothing has run, or where has_failed was set. */
bool xs_crew_run(struct xs_crew *crew);
/* Waits until all threads are here. False if one of them has failed, for all of them alike. */
bool xs_crew_meet(struct xs_crew *crew);

/* One turn of a loop that waits for another thread: `turns` counts them, from 0. */
void xs_crew_pause(unsigned *turns);

unsigned xs_crew_cores(void);

#endif
