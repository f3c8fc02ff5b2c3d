/* Random numbers that a seed repeats (splitmix64). Not thread-safe. */
#ifndef XS_TEST_MODEL_RANDOM_H
#define XS_TEST_MODEL_RANDOM_H

#include <stdint.h>
#include <time.h>

static uint64_t random_state;

static inline uint64_t random_bits(void)
{
    uint64_t z = (random_state += 0x9e3779b97f4a7c15u);
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

/* from 0 to n - 1, n > 0 */
static inline uint64_t random_below(uint64_t n)
{
    return random_bits() % n;
}

static inline uint64_t random_between(uint64_t least, uint64_t most)
{
    return least + random_below(most - least + 1);
}

static inline uint64_t random_new_seed(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000003u ^ (uint64_t)now.tv_nsec;
}

#endif
