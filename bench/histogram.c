#include "bench/histogram.h"

#include <math.h>

void xs_histogram_merge(struct xs_histogram *into, const struct xs_histogram *from)
{
    into->n += from->n;
    into->max = from->max > into->max ? from->max : into->max;
    for (size_t i = 0; i < XS_HISTOGRAM_BUCKETS; i++)
        into->counts[i] += from->counts[i];
}

/* The largest value that falls into the bucket. */
static uint64_t top_of(size_t bucket)
{
    if (bucket < 2 * XS_HISTOGRAM_SUB)
        return bucket;
    unsigned shift = (unsigned)(bucket / XS_HISTOGRAM_SUB) - 1;
    uint64_t head = bucket - (uint64_t)shift * XS_HISTOGRAM_SUB;
    return (head << shift) + (((uint64_t)1 << shift) - 1);
}

double xs_histogram_percentile(const struct xs_histogram *h, double q)
{
    if (h->n == 0)
        return NAN;
    double rank = ceil(q * (double)h->n);
    uint64_t wanted = rank < 1 ? 1 : (uint64_t)rank;
    uint64_t seen = 0;
    for (size_t i = 0; i < XS_HISTOGRAM_BUCKETS; i++) {
        seen += h->counts[i];
        if (seen >= wanted && h->counts[i] != 0)
            return (double)(top_of(i) < h->max ? top_of(i) : h->max);
    }
    return (double)h->max;
}
