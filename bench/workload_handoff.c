/*
 * Hand-over between threads: thread 0 allocates, thread 1 frees. The pointers go through a ring with
 * one writer and one reader, which touch each other's index only when they think it is full or
 * empty. A single operation is an allocation on one side and a free on the other; waiting for the ring
 * is in the rounds, where it is a part of the rate, but in no sample.
 */
#include <stdatomic.h>

#include "bench/crew.h"
#include "bench/ticks.h"
#include "bench/workload.h"

#define BLOCK_BYTES (64 * XS_BENCH_KIB)
#define RING        256u

struct handoff {
    const struct xs_bench *b;
    size_t bytes;
    xseg_stream stream;
    uint64_t clock_floor;
    _Alignas(64) atomic_ulong written;
    unsigned long known_read; /* the writer's */
    _Alignas(64) atomic_ulong read;
    unsigned long known_written;        /* the reader's */
    _Alignas(64) atomic_bool is_broken; /* one side has failed */
    void *ring[RING];
};

static bool enter(void *ctx, unsigned thread)
{
    const struct handoff *h = ctx;
    (void)thread;
    return xs_gpu_enter(h->b->gpu);
}

static bool wait_for_room(struct handoff *h, unsigned long written)
{
    unsigned turns = 0;
    while (written - h->known_read == RING) {
        h->known_read = atomic_load_explicit(&h->read, memory_order_acquire);
        if (written - h->known_read < RING)
            return true;
        if (atomic_load_explicit(&h->is_broken, memory_order_relaxed))
            return false;
        xs_crew_pause(&turns);
    }
    return true;
}

static bool wait_for_block(struct handoff *h, unsigned long read)
{
    unsigned turns = 0;
    while (read == h->known_written) {
        h->known_written = atomic_load_explicit(&h->written, memory_order_acquire);
        if (read != h->known_written)
            return true;
        if (atomic_load_explicit(&h->is_broken, memory_order_relaxed))
            return false;
        xs_crew_pause(&turns);
    }
    return true;
}

static bool fail(struct handoff *h, const char *what, int code)
{
    atomic_store(&h->is_broken, true);
    return xs_contestant_failed(h->b->who, what, h->bytes, code);
}

static void note(const struct handoff *h, struct xs_histogram *samples, uint64_t begin)
{
    uint64_t ticks = xs_ticks() - begin;
    xs_histogram_add(samples, ticks > h->clock_floor ? ticks - h->clock_floor : 0);
}

static bool produce(struct handoff *h, uint64_t n, struct xs_histogram *samples)
{
    const struct xs_contestant *who = h->b->who;
    unsigned long at = atomic_load_explicit(&h->written, memory_order_relaxed);
    for (uint64_t i = 0; i < n; i++, at++) {
        if (!wait_for_room(h, at))
            return false;
        uint64_t begin = samples != NULL ? xs_ticks() : 0;
        int code = who->alloc(&h->ring[at % RING], h->bytes, h->stream);
        if (code != 0)
            return fail(h, "alloc", code);
        if (samples != NULL)
            note(h, samples, begin);
        atomic_store_explicit(&h->written, at + 1, memory_order_release);
    }
    return true;
}

static bool consume(struct handoff *h, uint64_t n, struct xs_histogram *samples)
{
    const struct xs_contestant *who = h->b->who;
    unsigned long at = atomic_load_explicit(&h->read, memory_order_relaxed);
    for (uint64_t i = 0; i < n; i++, at++) {
        if (!wait_for_block(h, at))
            return false;
        uint64_t begin = samples != NULL ? xs_ticks() : 0;
        int code = who->free(h->ring[at % RING], h->bytes, h->stream);
        if (code != 0)
            return fail(h, "free", code);
        if (samples != NULL)
            note(h, samples, begin);
        atomic_store_explicit(&h->read, at + 1, memory_order_release);
    }
    return true;
}

static bool run(void *ctx, unsigned thread, uint64_t n)
{
    return thread == 0 ? produce(ctx, n, NULL) : consume(ctx, n, NULL);
}

static bool sample(void *ctx, unsigned thread, uint64_t n, struct xs_histogram *samples)
{
    return thread == 0 ? produce(ctx, n, samples) : consume(ctx, n, samples);
}

bool xs_workload_handoff(const struct xs_bench *b)
{
    struct handoff h = {.b = b,
                        .bytes = b->who->only_bytes != 0 ? b->who->only_bytes : BLOCK_BYTES};
    struct xs_job job = {.n_threads = 2, .ctx = &h, .enter = enter, .run = run, .sample = sample};
    struct xs_timing timing;
    struct xs_row row = xs_workload_row(b, "handoff", 2, h.bytes);
    if (!xs_workload_make_streams(b, &h.stream, 1))
        return false;
    h.clock_floor = xs_rounds_clock_floor();
    bool ok = xs_rounds_time(&job, &b->plan, &timing);
    xs_workload_end_streams(b, &h.stream, 1);
    if (!ok)
        return false;
    xs_workload_take(&row, &timing);
    xs_row_extra(&row, "mblocks_per_s", 1e3 / timing.ns_per_op);
    b->emit(b->emit_ctx, &row);
    return true;
}
