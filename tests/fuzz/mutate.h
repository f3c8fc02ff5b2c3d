/* Random damage to an input, for the fuzz targets as plain programs. */
#ifndef XS_TESTS_FUZZ_MUTATE_H
#define XS_TESTS_FUZZ_MUTATE_H

#include <string.h>

#include "base/base.h"

static uint64_t random_state;

static size_t random_below(size_t n)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (size_t)(random_state % n);
}

/* Overwrites, inserts, removes or repeats something; returns the new length. */
static size_t mutate(char *text, size_t len, size_t room)
{
    static const char favourites[] = "0123456789 \n-#af\0x\xff";
    size_t at = random_below(len);
    size_t n = xs_min(1 + random_below(16), len - at);
    switch (random_below(4)) {
    case 0:
        text[at] = favourites[random_below(sizeof(favourites) - 1)];
        return len;
    case 1:
        memmove(text + at, text + at + n, len - at - n);
        return xs_max(len - n, 1);
    case 2:
        text[at] = (char)random_below(256);
        return len;
    default:
        if (len + n > room)
            return len;
        memmove(text + at + n, text + at, len - at);
        return len + n;
    }
}

#endif
