/* Statistics of a few numbers, the figures of rounds. Both functions sort the array; a NaN sorts last,
 * and no numbers give NaN. */
#ifndef XS_BENCH_BENCH_STATS_H
#define XS_BENCH_BENCH_STATS_H

#include "bench/units.h"

/* The middle number, or the mean of the two middle ones. */
double xs_bench_median(double *values, size_t n);
/* The smallest number that is not below a share `q` (0 to 1) of all: nearest rank, nothing interpolated. */
double xs_bench_percentile(double *values, size_t n, double q);

#endif
