#include "bench/random.h"

#define SHIFT 397

void xs_random_seed(struct xs_random *r, uint32_t seed)
{
    r->state[0] = seed;
    for (uint32_t i = 1; i < XS_RANDOM_WORDS; i++)
        r->state[i] = 1812433253u * (r->state[i - 1] ^ (r->state[i - 1] >> 30)) + i;
    r->at = XS_RANDOM_WORDS;
}

static void refill(struct xs_random *r)
{
    uint32_t *s = r->state;
    for (unsigned i = 0; i < XS_RANDOM_WORDS; i++) {
        uint32_t y = (s[i] & 0x80000000u) | (s[(i + 1) % XS_RANDOM_WORDS] & 0x7fffffffu);
        s[i] = s[(i + SHIFT) % XS_RANDOM_WORDS] ^ (y >> 1) ^ ((y & 1) != 0 ? 0x9908b0dfu : 0);
    }
    r->at = 0;
}

uint32_t xs_random_next(struct xs_random *r)
{
    if (r->at == XS_RANDOM_WORDS)
        refill(r);
    uint32_t y = r->state[r->at++];
    y ^= y >> 11;
    y ^= (y << 7) & 0x9d2c5680u;
    y ^= (y << 15) & 0xefc60000u;
    return y ^ (y >> 18);
}
