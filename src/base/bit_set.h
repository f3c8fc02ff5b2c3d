/*
 * A set of small numbers that is quick to walk: two levels of bits, so that the next number is found by two looks
 * however many there are in between. All zero is empty. Not thread-safe.
 */
#ifndef XS_BASE_BIT_SET_H
#define XS_BASE_BIT_SET_H

#include "base/base.h"

#define XS_BIT_SET_SIZE 4096 /* numbers are below; as an answer: none */

struct xs_bit_set {
    uint64_t words; /* which words of `bits` are not zero */
    uint64_t bits[XS_BIT_SET_SIZE / 64];
};

static inline void xs_bit_set_add(struct xs_bit_set *set, unsigned i)
{
    set->bits[i / 64] |= (uint64_t)1 << i % 64;
    set->words |= (uint64_t)1 << i / 64;
}

static inline void xs_bit_set_remove(struct xs_bit_set *set, unsigned i)
{
    set->bits[i / 64] &= ~((uint64_t)1 << i % 64);
    if (!set->bits[i / 64])
        set->words &= ~((uint64_t)1 << i / 64);
}

/* The first number from `i` on. */
static inline unsigned xs_bit_set_next(const struct xs_bit_set *set, unsigned i)
{
    unsigned word = i / 64;
    if (i >= XS_BIT_SET_SIZE)
        return XS_BIT_SET_SIZE;
    uint64_t bits = set->bits[word] & UINT64_MAX << i % 64;
    if (bits)
        return word * 64 + (unsigned)__builtin_ctzll(bits);
    uint64_t words = set->words & UINT64_MAX << 1 << word;
    if (!words)
        return XS_BIT_SET_SIZE;
    word = (unsigned)__builtin_ctzll(words);
    return word * 64 + (unsigned)__builtin_ctzll(set->bits[word]);
}

/* The last number up to `i`. */
static inline unsigned xs_bit_set_last(const struct xs_bit_set *set, unsigned i)
{
    unsigned word = i / 64;
    uint64_t bits = set->bits[word] & UINT64_MAX >> (63 - i % 64);
    if (bits)
        return word * 64 + xs_log2(bits);
    uint64_t words = set->words & (((uint64_t)1 << word) - 1);
    if (!words)
        return XS_BIT_SET_SIZE;
    word = xs_log2(words);
    return word * 64 + xs_log2(set->bits[word]);
}

#define XS_BIT_SET_FOR_EACH(i, set)                                                                \
    for (unsigned i = xs_bit_set_next(set, 0); i < XS_BIT_SET_SIZE; i = xs_bit_set_next(set, i + 1))

#endif
