/*
 * Monotonic time. Never read on a path that a cached allocation takes.
 *
 * Ticks are the processor's own counter, for what is measured often: a fourth of the clock's price.
 */
#ifndef XS_BASE_CLOCK_H
#define XS_BASE_CLOCK_H

#include <time.h>

#include "base/base.h"

static inline uint64_t xs_clock_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static inline uint64_t xs_clock_ticks(void)
{
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
    uint64_t t;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(t));
    return t;
#else
    return xs_clock_ns();
#endif
}

/* A moment on both clocks. */
struct xs_clock_mark {
    uint64_t ns;
    uint64_t ticks;
};

static inline struct xs_clock_mark xs_clock_mark(void)
{
    return (struct xs_clock_mark){xs_clock_ns(), xs_clock_ticks()};
}

#define XS_CLOCK_LEAST_NS 200000 /* for a rate that is true to some 0.05 % */

/* Nanoseconds a tick, by what has passed since the mark; waits where that is next to nothing. */
static inline double xs_clock_tick_ns(struct xs_clock_mark since)
{
    struct xs_clock_mark now;
    do
        now = xs_clock_mark();
    while (now.ns - since.ns < XS_CLOCK_LEAST_NS);
    return now.ticks > since.ticks ? (double)(now.ns - since.ns) / (double)(now.ticks - since.ticks)
                                   : 1;
}

/* Milliseconds of the same clock at the kernel's last tick: a few nanoseconds. Wraps after 49 days. */
static inline uint32_t xs_clock_coarse_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
    return (uint32_t)((uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000);
}

#endif
