/*
 * The two clocks of a benchmark. Nanoseconds are for rounds: a read costs 20 to 50 ns, or far more
 * under a sandbox that traps it. Ticks are for single operations: the processor's own counter, a
 * few nanoseconds to read, turned into nanoseconds by a factor that is measured once.
 */
#ifndef XS_BENCH_TICKS_H
#define XS_BENCH_TICKS_H

#include <time.h>

#include "bench/units.h"

static inline uint64_t xs_bench_now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static inline uint64_t xs_ticks(void)
{
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
    uint64_t t;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(t));
    return t;
#else
    return xs_bench_now_ns();
#endif
}

/* Nanoseconds a tick; the first call takes 20 ms to measure it, and must not run beside another. */
double xs_ticks_ns(void);

#endif
