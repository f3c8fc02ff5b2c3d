/*
 * Streams whose work the model advances by hand, and freed memory that their queued work may still
 * use: another stream that is given it, at whatever address, must not come to its own work before that work has run. It
 * may have run already, or the stream has been made to wait for it. Not thread-safe.
 */
#ifndef XS_TEST_MODEL_STREAMS_H
#define XS_TEST_MODEL_STREAMS_H

#include "xseg_fixture.h"

#define MODEL_STREAMS    5 /* the default one and four created ones */
#define MODEL_MANUAL     3 /* the first of them keep their work until they are advanced */
#define MODEL_MAX_GHOSTS 4096
#define MODEL_MAX_QUEUED 100

struct ghost {
    uint64_t at; /* in physical memory */
    uint64_t end;
    unsigned stream;
    uint64_t seq; /* busy until so much of the stream's work has run */
};

static struct {
    xs_cu_stream handle[MODEL_STREAMS];
    uint64_t queued[MODEL_STREAMS];
    uint64_t done[MODEL_STREAMS];
    struct ghost ghost[MODEL_MAX_GHOSTS];
    size_t ghosts;
} streams;

static inline void streams_begin(void)
{
    for (unsigned i = 0; i < MODEL_STREAMS; i++) {
        streams.handle[i] = i ? xt_new_stream() : NULL;
        if (i < MODEL_MANUAL)
            XT_CU(sim.stream_manual(streams.handle[i], true));
    }
}

static inline void streams_end(void)
{
    for (unsigned i = 0; i < MODEL_STREAMS; i++) {
        XT_CU(cu.cuStreamSynchronize(streams.handle[i]));
        if (i)
            XT_CU(cu.cuStreamDestroy_v2(streams.handle[i]));
    }
}

static void note_done(void *done)
{
    ++*(uint64_t *)done;
}

/* A kernel of the stream uses the memory. */
static inline void streams_use(unsigned stream, uintptr_t va, size_t bytes)
{
    xs_cu_stream handle = streams.handle[stream];
    XT_CU(sim.launch(handle, va, bytes));
    streams.queued[stream]++;
    XT_CU(cu.cuLaunchHostFunc(handle, note_done, &streams.done[stream]));
    if (streams.queued[stream] - streams.done[stream] > MODEL_MAX_QUEUED)
        sim.stream_advance(handle, MODEL_MAX_QUEUED);
}

/* What `stream` is given from now on comes behind all that `first` has been given. */
static inline void streams_wait(unsigned stream, unsigned first)
{
    xs_cu_event event;
    XT_CU(cu.cuEventCreate(&event, XS_CU_EVENT_DISABLE_TIMING));
    XT_CU(cu.cuEventRecord(event, streams.handle[first]));
    XT_CU(cu.cuStreamWaitEvent(streams.handle[stream], event, 0));
    XT_CU(cu.cuEventDestroy_v2(event));
}

static inline bool is_over(const struct ghost *ghost)
{
    return streams.done[ghost->stream] >= ghost->seq;
}

static inline void forget_old_ghosts(void)
{
    size_t kept = 0;
    for (size_t i = 0; i < streams.ghosts; i++)
        if (!is_over(&streams.ghost[i]))
            streams.ghost[kept++] = streams.ghost[i];
    streams.ghosts = kept;
}

/* The next piece of [va, end) that lies side by side in physical memory. */
static inline uint64_t next_piece(uintptr_t va, uintptr_t end, size_t *bytes)
{
    const uint64_t at = sim.physical(va, bytes);
    XT_CHECK(*bytes > 0);
    *bytes = xs_min(*bytes, end - va);
    return at;
}

static inline void add_ghost(const struct ghost *ghost)
{
    if (streams.ghosts == MODEL_MAX_GHOSTS) {
        for (unsigned i = 0; i < MODEL_STREAMS; i++)
            XT_CU(cu.cuStreamSynchronize(streams.handle[i]));
        streams.ghosts = 0;
    }
    streams.ghost[streams.ghosts++] = *ghost;
}

/* The memory is being freed on the stream, behind all that is queued there. */
static inline void streams_freed(unsigned stream, uintptr_t va, size_t bytes)
{
    struct ghost ghost = {.stream = stream, .seq = streams.queued[stream]};
    size_t piece;
    forget_old_ghosts();
    for (uintptr_t at = va; at < va + bytes && !is_over(&ghost); at += piece) {
        ghost.at = next_piece(at, va + bytes, &piece);
        ghost.end = ghost.at + piece;
        add_ghost(&ghost);
    }
}

/* Host functions, each at its place in a stream. */
static struct order {
    unsigned stream; /* whose work */
    uint64_t seq;    /* must have run so far by then */
    bool broken;
} orders[4096];
static unsigned next_order;

static void look_at_order(void *data)
{
    struct order *order = data;
    order->broken |= streams.done[order->stream] < order->seq;
}

static inline void streams_check_orders(void)
{
    for (size_t i = 0; i < XS_COUNT_OF(orders); i++)
        if (orders[i].broken)
            XT_FAIL("a stream came to its work on memory that stream %u was still using",
                    orders[i].stream);
}

/* The stream's further work comes after the ghost's. */
static inline void check_order(unsigned stream, const struct ghost *ghost, uintptr_t va)
{
    struct order *order = &orders[next_order++ % XS_COUNT_OF(orders)];
    *order = (struct order){.stream = ghost->stream, .seq = ghost->seq};
    XT_CU(cu.cuLaunchHostFunc(streams.handle[stream], look_at_order, order));
    if (order->broken)
        XT_FAIL("stream %u was given memory at %#zx, which stream %u is still using", stream,
                (size_t)va, ghost->stream);
}

/* The stream's further work may use the memory: no other one may be at work on it by then. */
static inline void streams_check_given(unsigned stream, uintptr_t va, size_t bytes)
{
    size_t piece;
    for (uintptr_t from = va; from < va + bytes; from += piece) {
        const uint64_t at = next_piece(from, va + bytes, &piece);
        for (size_t i = 0; i < streams.ghosts; i++) {
            const struct ghost *ghost = &streams.ghost[i];
            if (ghost->stream != stream && ghost->at < at + piece && at < ghost->end &&
                !is_over(ghost))
                check_order(stream, ghost, from);
        }
    }
}

#endif
