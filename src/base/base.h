/* The few words every floor uses: sizes, rounding, branch hints. No state, no CUDA. */
#ifndef XS_BASE_BASE_H
#define XS_BASE_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "xseg/xseg.h"

/* 0 in a release build; 1 adds cheap checks (lock ranks); 2 also shrinks constants. */
#ifndef XS_DEBUG
#define XS_DEBUG 0
#endif
static const int xs_debug = XS_DEBUG;

#define XS_KIB ((size_t)1 << 10)
#define XS_MIB ((size_t)1 << 20)
#define XS_GIB ((size_t)1 << 30)

#define XS_CACHE_LINE 64

#define xs_likely(x)                    __builtin_expect(!!(x), 1)
#define xs_unlikely(x)                  __builtin_expect(!!(x), 0)
#define XS_PRINTF(fmt, args)            __attribute__((format(printf, fmt, args)))
#define XS_COUNT_OF(a)                  (sizeof(a) / sizeof((a)[0]))
#define XS_CONTAINER_OF(p, type, field) ((type *)((char *)(p)-offsetof(type, field)))

static inline size_t xs_min(size_t a, size_t b)
{
    return a < b ? a : b;
}

static inline size_t xs_max(size_t a, size_t b)
{
    return a > b ? a : b;
}

/* `unit` is any positive number. The caller has made sure that n + unit does not overflow. */
static inline size_t xs_round_up(size_t n, size_t unit)
{
    return (n + unit - 1) / unit * unit;
}

static inline size_t xs_round_down(size_t n, size_t unit)
{
    return n / unit * unit;
}

static inline bool xs_is_pow2(size_t n)
{
    return n != 0 && (n & (n - 1)) == 0;
}

/* floor(log2(n)), n > 0 */
static inline unsigned xs_log2(size_t n)
{
    return 63u - (unsigned)__builtin_clzll((unsigned long long)n);
}

/* The largest power of two that is not above n, n > 0. */
static inline size_t xs_pow2_floor(size_t n)
{
    return (size_t)1 << xs_log2(n);
}

/* The smallest power of two that is not below n, 0 < n <= 2^63. */
static inline size_t xs_pow2_ceil(size_t n)
{
    return n <= 1 ? 1 : (size_t)1 << (xs_log2(n - 1) + 1);
}

#endif
