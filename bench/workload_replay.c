/*
 * Replay of recorded events, in order, on one thread. The first pass fills the caches and is a figure of
 * its own; the passes after it are what a training loop sees. What is live at the end of a pass is
 * freed outside of its time. A contestant whose first pass takes seconds caches nothing that a
 * second one would profit from: that pass is its figure.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/bench_stats.h"
#include "bench/failure.h"
#include "bench/ticks.h"
#include "bench/workload.h"

#define SLOW_PASS_NS 3000000000u

struct replay {
    const struct xs_bench *b;
    const struct xs_bench_trace *trace;
    xseg_stream *streams; /* by number; 0 is the legacy one */
    void **blocks;        /* by slot; NULL: not live, or of size 0 */
    uint64_t *bytes;      /* by slot; of what is live */
    uint16_t *owner;      /* by slot; number of its stream */
    struct xs_histogram *samples;
};

static int play_one(const struct replay *r, const struct xs_bench_event *e)
{
    const struct xs_contestant *who = r->b->who;
    if (e->is_alloc && e->size != 0)
        return who->alloc(&r->blocks[e->slot], e->size, r->streams[e->stream]);
    if (e->is_alloc || r->blocks[e->slot] == NULL)
        return 0;
    int code = who->free(r->blocks[e->slot], e->size, r->streams[e->stream]);
    r->blocks[e->slot] = NULL;
    return code;
}

static bool fail(const struct replay *r, uint64_t at, int code)
{
    const struct xs_bench_event *e = &r->trace->events[at];
    return xs_contestant_failed(r->b->who, e->is_alloc ? "alloc" : "free", e->size, code);
}

static bool play(const struct replay *r)
{
    const struct xs_bench_event *events = r->trace->events;
    uint64_t n = r->trace->n_events;
    for (uint64_t i = 0; i < n; i++) {
        int code = play_one(r, &events[i]);
        if (code != 0)
            return fail(r, i, code);
    }
    return true;
}

static bool play_sampled(const struct replay *r)
{
    uint64_t floor = xs_rounds_clock_floor();
    for (uint64_t i = 0; i < r->trace->n_events; i++) {
        uint64_t begin = xs_ticks();
        int code = play_one(r, &r->trace->events[i]);
        uint64_t ticks = xs_ticks() - begin;
        if (code != 0)
            return fail(r, i, code);
        xs_histogram_add(r->samples, ticks > floor ? ticks - floor : 0);
    }
    return true;
}

/* The trace says what is still live: an allocation that no later event frees. */
static void note_live(const struct replay *r)
{
    for (uint64_t i = 0; i < r->trace->n_events; i++) {
        const struct xs_bench_event *e = &r->trace->events[i];
        r->bytes[e->slot] = e->size;
        r->owner[e->slot] = e->stream;
    }
}

static bool free_live(const struct replay *r)
{
    for (uint64_t slot = 0; slot < r->trace->n_slots; slot++) {
        if (r->blocks[slot] == NULL)
            continue;
        int code = r->b->who->free(r->blocks[slot], r->bytes[slot], r->streams[r->owner[slot]]);
        r->blocks[slot] = NULL;
        if (code != 0)
            return xs_contestant_failed(r->b->who, "free", r->bytes[slot], code);
    }
    return xs_gpu_wait(r->b->gpu);
}

/* *ns is per event. */
static bool time_pass(const struct replay *r, double *ns)
{
    uint64_t begin = xs_bench_now_ns();
    bool ok = play(r);
    *ns = (double)(xs_bench_now_ns() - begin) / (double)(r->trace->n_events | !r->trace->n_events);
    return free_live(r) && ok;
}

static bool time_passes(const struct replay *r, struct xs_row *row)
{
    double ns[XS_ROUNDS_MAX] = {0};
    double first;
    unsigned n = xs_workload_few_rounds(r->b);
    if (!time_pass(r, &first))
        return false;
    bool is_slow = first * (double)r->trace->n_events > (double)SLOW_PASS_NS;
    for (unsigned i = 0; i < n && !is_slow; i++)
        if (!time_pass(r, &ns[i]))
            return false;
    row->ns_per_pair = is_slow ? first : xs_bench_median(ns, n);
    xs_row_extra(row, "first_pass_ns", first);
    xs_row_extra(row, "passes", is_slow ? 1 : n + 1);
    if (is_slow)
        return true;
    bool ok = play_sampled(r);
    row->p50_ns = xs_histogram_percentile(r->samples, 0.5) * xs_ticks_ns();
    row->p999_ns = xs_histogram_percentile(r->samples, 0.999) * xs_ticks_ns();
    return free_live(r) && ok;
}

static bool run_trace(struct replay *r)
{
    struct xs_row row = xs_workload_row(r->b, "replay", 1, 0);
    snprintf(row.trace, sizeof(row.trace), "%s", r->trace->name);
    xs_row_extra(&row, "events", (double)r->trace->n_events);
    note_live(r);
    if (!xs_workload_make_streams(r->b, r->streams + 1, r->trace->n_streams - 1))
        return false;
    bool ok = time_passes(r, &row);
    xs_workload_end_streams(r->b, r->streams + 1, r->trace->n_streams - 1);
    if (ok)
        r->b->emit(r->b->emit_ctx, &row);
    return ok;
}

static bool replay_trace(const struct xs_bench *b, const struct xs_bench_trace *trace)
{
    size_t slots = trace->n_slots + 1;
    struct replay r = {.b = b, .trace = trace};
    r.streams = calloc(trace->n_streams, sizeof(*r.streams));
    r.blocks = calloc(slots, sizeof(*r.blocks));
    r.bytes = calloc(slots, sizeof(*r.bytes));
    r.owner = calloc(slots, sizeof(*r.owner));
    r.samples = calloc(1, sizeof(*r.samples));
    bool ok = r.streams && r.blocks && r.bytes && r.owner && r.samples;
    if (!ok)
        xs_bench_fail("no memory for %zu slots", slots);
    ok = ok && run_trace(&r);
    free(r.streams);
    free(r.blocks);
    free(r.bytes);
    free(r.owner);
    free(r.samples);
    return ok;
}

bool xs_workload_replay(const struct xs_bench *b)
{
    bool ok = true;
    for (size_t i = 0; i < b->n_traces && ok; i++) {
        ok = replay_trace(b, &b->traces[i]);
        if (b->who->trim != NULL)
            b->who->trim(); /* the next one begins without what this one left */
    }
    return ok;
}
