/*
 * Replays one trace through the library: its allocations and frees, in order, on streams like its
 * own, from a fresh allocator. Nothing is printed here but the progress bar. Not thread-safe.
 */
#ifndef XS_CLI_REPLAY_H
#define XS_CLI_REPLAY_H

#include "cli/cuda.h"
#include "report/trace_file.h"

/* Both 0: no limit but that of the configuration. */
struct xs_replay_limit {
    size_t bytes;
    double times; /* the trace's peak of requested bytes */
};

struct xs_replay_options {
    const char *conf; /* NULL: what the environment says */
    struct xs_replay_limit limit;
    unsigned passes; /* at least 1 */
    bool verify;
    size_t behind; /* the GPU, a simulated one, is so many events behind; 0: it keeps up */
};

struct xs_replay_calls {
    uint64_t create;
    uint64_t map;
    uint64_t set_access;
    uint64_t unmap;
    uint64_t release;
};

struct xs_replay_pass {
    uint64_t events; /* that were played */
    double
        ns_per_event; /* spent in the library, the driver's time not counted; NaN: not measured */
    double driver_ms;
    struct xs_replay_calls calls;
    uint64_t waits; /* requests that were served after waiting for the GPU */
    uint64_t peak_allocated;
    uint64_t peak_reserved;
};

struct xs_replay {
    uint64_t limit_bytes; /* in force; SIZE_MAX: none */
    unsigned n_passes;    /* that were begun */
    struct xs_replay_pass *passes;
    uint64_t oom_event; /* the number, from 1, of the one that found no memory; 0: none did */
    uint64_t mismatches;
    uint64_t reserved_end;    /* when the last pass was over, ... */
    uint64_t driver_used_end; /* ... and what the driver had given out for it */
    uint64_t leaked_bytes;    /* still reserved after xseg_empty_cache() */
};

/* Loads the driver into the library and tries the configuration; for errors before the first trace. */
enum xseg_result xs_replay_prepare(const struct xs_cuda *cuda, const char *conf);
/* Out of memory is a result, not an error. On success *replay is the caller's to clear. */
enum xseg_result xs_replay_run(struct xs_replay *replay, const struct xs_cuda *cuda,
                               const struct xs_replay_options *options,
                               const struct xs_trace *trace, const char *label);
void xs_replay_clear(struct xs_replay *replay);

uint64_t xs_replay_calls_total(const struct xs_replay_calls *calls);

#endif
