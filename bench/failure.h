/*
 * Why a benchmark could not go on: the first failure since the last clear, whichever thread had it.
 * What follows from it on other threads is not interesting. Thread-safe.
 */
#ifndef XS_BENCH_FAILURE_H
#define XS_BENCH_FAILURE_H

#include "bench/units.h"

#define XS_BENCH_FAILURE_BYTES 384

/* Returns false, so that a failing function can return it. */
bool xs_bench_fail(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void xs_bench_failure_clear(void);
/* "" when there has been none. Only when no other thread may fail. */
const char *xs_bench_failure(void);

#endif
