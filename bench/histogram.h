/*
 * Counts of many values, in buckets: exact below 128, then 64 buckets for each power of two, so that a
 * percentile is at most 1/64 above the value it stands for. Of fixed size; adding allocates nothing.
 * Not thread-safe: one for each thread, merged afterwards.
 */
#ifndef XS_BENCH_HISTOGRAM_H
#define XS_BENCH_HISTOGRAM_H

#include "bench/units.h"

#define XS_HISTOGRAM_SUB_BITS 6
#define XS_HISTOGRAM_SUB      (1u << XS_HISTOGRAM_SUB_BITS)
#define XS_HISTOGRAM_BUCKETS  ((64 - XS_HISTOGRAM_SUB_BITS + 1) * XS_HISTOGRAM_SUB)

struct xs_histogram {
    uint64_t n;
    uint64_t max;
    uint64_t counts[XS_HISTOGRAM_BUCKETS];
};

static inline size_t xs_histogram_bucket(uint64_t value)
{
    if (value < XS_HISTOGRAM_SUB)
        return value;
    unsigned shift = 63u - (unsigned)__builtin_clzll(value) - XS_HISTOGRAM_SUB_BITS;
    return (size_t)shift * XS_HISTOGRAM_SUB + (size_t)(value >> shift);
}

static inline void xs_histogram_add(struct xs_histogram *h, uint64_t value)
{
    h->n++;
    h->max = value > h->max ? value : h->max;
    h->counts[xs_histogram_bucket(value)]++;
}

void xs_histogram_merge(struct xs_histogram *into, const struct xs_histogram *from);
/* The top of the bucket that holds the value at a share `q` of all, by nearest rank; never above the
 * largest value. NaN where there are none. */
double xs_histogram_percentile(const struct xs_histogram *h, double q);

#endif
