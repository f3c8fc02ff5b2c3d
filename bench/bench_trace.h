/*
 * A trace as arrays, made by whoever can read trace files, and the binary form in which it is handed to
 * an outside program of the same build: the head below, then the events.
 */
#ifndef XS_BENCH_BENCH_TRACE_H
#define XS_BENCH_BENCH_TRACE_H

#include "bench/units.h"

struct xs_bench_event {
    uint64_t size; /* also for a free */
    uint32_t slot; /* where the pointer is kept */
    uint16_t stream;
    uint16_t is_alloc;
};

struct xs_bench_trace {
    char name[96];
    uint64_t n_events;
    uint64_t n_slots;
    uint64_t n_streams; /* at least 1; number 0 is the default stream */
    const struct xs_bench_event *events;
};

/* Writes it to a file descriptor. */
bool xs_bench_trace_save(const struct xs_bench_trace *trace, int fd);
/* Maps a saved trace until the process ends. */
bool xs_bench_trace_map(struct xs_bench_trace *trace, const char *path);

#endif
