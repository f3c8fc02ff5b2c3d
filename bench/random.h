/* The Mersenne Twister, so that C, C++ (std::mt19937) and Python programs can make the same sequence. */
#ifndef XS_BENCH_RANDOM_H
#define XS_BENCH_RANDOM_H

#include "bench/units.h"

#define XS_RANDOM_WORDS 624

struct xs_random {
    uint32_t state[XS_RANDOM_WORDS];
    unsigned at;
};

void xs_random_seed(struct xs_random *r, uint32_t seed);
uint32_t xs_random_next(struct xs_random *r);

#endif
