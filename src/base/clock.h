/* Monotonic nanoseconds. Never read on a path that a cached allocation takes. */
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

#endif
