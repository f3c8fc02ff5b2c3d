/*
 * What the contestants are made to do. A workload runs one contestant, opened for it alone, and emits
 * one row or several. Not thread-safe; a workload may use threads of its own.
 */
#ifndef XS_BENCH_WORKLOAD_H
#define XS_BENCH_WORKLOAD_H

#include "bench/bench_trace.h"
#include "bench/contestant.h"
#include "bench/rounds.h"
#include "bench/row.h"

struct xs_bench {
    const struct xs_gpu *gpu;
    const struct xs_contestant *who;
    const char *conf; /* the policy string for it; NULL: none */
    struct xs_plan plan;
    bool is_quick; /* smaller sizes, for a smoke test */
    const struct xs_bench_trace *traces;
    size_t n_traces;
    void (*emit)(void *ctx, const struct xs_row *row);
    void *emit_ctx;
};

struct xs_workload {
    const char *name;
    const char *help;
    bool needs_device;                     /* says nothing about an allocator of host memory */
    bool (*run)(const struct xs_bench *b); /* false: failed, see failure.h */
};

/* In the order in which they are shown. */
extern const struct xs_workload xs_workloads[];
extern const size_t xs_n_workloads;

/* --quick and the usual one; `rounds` 0: the default. */
struct xs_plan xs_workload_plan(bool is_quick, unsigned rounds);
/* Opens the contestant, runs, closes it. A failure is emitted as a row with an error; returns false. */
bool xs_workload_run(const struct xs_workload *w, const struct xs_bench *b);

/* Whether `name` is in a comma-separated list; a NULL list holds all names. */
bool xs_workload_is_listed(const char *list, const char *name);

/* ---- for the workloads ----------------------------------------------------------------------- */

/* Streams that the contestant is told of. */
bool xs_workload_make_streams(const struct xs_bench *b, xseg_stream *streams, size_t n);
void xs_workload_end_streams(const struct xs_bench *b, const xseg_stream *streams, size_t n);

/* A row for this contestant, with the control measured just now, all else NaN. */
struct xs_row xs_workload_row(const struct xs_bench *b, const char *bench, unsigned threads,
                              uint64_t size);
/* The rate of the control on so many threads over that on one: they share nothing, so it is what the machine allows. */
double xs_workload_control_ratio(const struct xs_bench *b, unsigned n_threads);
void xs_workload_take(struct xs_row *row, const struct xs_timing *timing);
/* Bounds for what is too slow to be repeated as often as the plan says. */
unsigned xs_workload_few_rounds(const struct xs_bench *b);

bool xs_workload_pair(const struct xs_bench *b);
bool xs_workload_churn(const struct xs_bench *b);
bool xs_workload_threads(const struct xs_bench *b);
bool xs_workload_handoff(const struct xs_bench *b);
bool xs_workload_shared(const struct xs_bench *b);
bool xs_workload_crossstream(const struct xs_bench *b);
bool xs_workload_replay(const struct xs_bench *b);
bool xs_workload_growbeside(const struct xs_bench *b);
bool xs_workload_growth(const struct xs_bench *b);

#endif
