/* Trace files as the arrays that the benchmark takes. Not thread-safe. */
#ifndef XS_CLI_BENCH_TRACES_H
#define XS_CLI_BENCH_TRACES_H

#include "base/base.h"
#include "bench/bench_trace.h"

/* Errors: IO, HOST_MEMORY, with the file's name in the text. */
enum xseg_result xs_bench_traces_load(struct xs_bench_trace **traces, char **paths, size_t n);
void xs_bench_traces_unload(struct xs_bench_trace *traces, size_t n);

/* A trace as a file that a child can open as /proc/self/fd/N; -1: it could not be made. */
int xs_bench_traces_share(const struct xs_bench_trace *trace);

#endif
