/*
 * Situations in which one call of xseg makes driver calls that may fail: how to come there, and the
 * call. All begin with xseg shut down and end with everything freed.
 */
#ifndef XS_TEST_FAULT_SCENARIOS_H
#define XS_TEST_FAULT_SCENARIOS_H

#include "../model/model_blocks.h"
#include "driver/driver_fault.h"
#include "xseg/pools.h"

struct scenario {
    const char *name;
    const char *conf;
    void (*set_up)(void);
    enum xseg_result (*act)(void);
    bool starts; /* a context, an address range and events may stay after a failure */
    bool
        releases; /* what was cached, or mapped twice, may have gone back to the driver after a failure */
    bool trades; /* after a failure extents may be new ones, of the same sizes at the same places */
    bool ends;   /* shuts xseg down */
};

static xs_cu_stream first_stream, second_stream;

/* A live block whose data will be looked at. */
static inline void *hold_on(size_t bytes, xs_cu_stream stream)
{
    void *p = xt_alloc_on(bytes, stream);
    model_add(p, bytes, 0);
    return p;
}

static inline void *hold(size_t bytes)
{
    return hold_on(bytes, NULL);
}

static inline void drop(void *p)
{
    model_remove(model_index((uintptr_t)p));
    xt_free(p);
}

static enum xseg_result request_on(size_t bytes, xs_cu_stream stream)
{
    void *p = NULL;
    const enum xseg_result e = xseg_malloc(&p, bytes, 0, stream);
    XT_CHECK(!e == (p != NULL));
    if (!e)
        model_add(p, bytes, 0);
    return e;
}

/* `count` blocks side by side, of which those are freed whose number is a multiple of `nth`. */
static inline void comb(unsigned count, size_t bytes, unsigned nth)
{
    void *p[64];
    for (unsigned i = 0; i < count; i++)
        p[i] = hold(bytes);
    for (unsigned i = 0; i < count; i += nth)
        drop(p[i]);
}

static void limit_to_reserved(size_t more)
{
    XT_OK(xseg_set_limit(0, xt_reserved() + more));
}

/* ---- first use -------------------------------------------------------------------------------- */

static void nothing(void) {}

static enum xseg_result request_small(void)
{
    return request_on(XS_MIB, NULL);
}

static enum xseg_result read_and_limit(void)
{
    size_t free_bytes, total;
    const enum xseg_result e = xseg_memory_info(0, &free_bytes, &total);
    return e ? e : xseg_set_limit(0, 100 * XS_MIB);
}

/* ---- growing ---------------------------------------------------------------------------------- */

static void one_block(void)
{
    hold(8 * XS_MIB);
}

static enum xseg_result request_large(void)
{
    return request_on(40 * XS_MIB, NULL);
}

/* The free places are too small for the request, and the limit leaves a quarter of it. */
static void scattered(void)
{
    comb(10, 8 * XS_MIB, 2);
    limit_to_reserved(8 * XS_MIB);
}

static enum xseg_result request_scattered(void)
{
    return request_on(32 * XS_MIB, NULL);
}

/* Many extents of a granule, wanted for a request whose own would be large. */
static void crumbs(void)
{
    void *p[24];
    for (unsigned i = 0; i < 24; i++)
        p[i] = hold(2 * XS_MIB);
    for (unsigned i = 0; i < 24; i++)
        if (i % 8)
            drop(p[i]);
}

static enum xseg_result request_for_trade(void)
{
    return request_on(32 * XS_MIB + 512, NULL);
}

/* A hole between live blocks, and free extents elsewhere that are larger than what it lacks. */
static void narrow_hole(void)
{
    void *p[4];
    XT_OK(xseg_configure("extent_max:2M"));
    void *hole = hold(20 * XS_MIB);
    hold(2 * XS_MIB);
    XT_OK(xseg_configure("extent_max:16M,extent_min:16M"));
    for (unsigned i = 0; i < 4; i++)
        p[i] = hold(16 * XS_MIB);
    drop(hole);
    XT_OK(xseg_empty_cache(0));
    drop(p[0]);
    drop(p[2]);
    limit_to_reserved(0);
}

/* What was taken for good in large extents is free after all. */
static void freed_weights(void)
{
    void *weights = hold(128 * XS_MIB);
    hold(2 * XS_MIB);
    drop(weights);
}

static enum xseg_result request_160_mib(void)
{
    return request_on(160 * XS_MIB, NULL);
}

/* hole, free, hole, live: the window needs new memory at two places. */
static void several_holes(void)
{
    void *p[6];
    for (unsigned i = 0; i < 6; i++)
        p[i] = hold(4 * XS_MIB);
    drop(p[0]);
    drop(p[2]);
    drop(p[4]);
    XT_OK(xseg_empty_cache(0));
    drop(p[1]);
    drop(p[3]);
}

static enum xseg_result request_20_mib(void)
{
    return request_on(20 * XS_MIB, NULL);
}

static void full_extent(void)
{
    hold(16 * XS_MIB);
}

/* The tail gets more than the request: the smallest extent is larger than it. */
static enum xseg_result request_overfilled(void)
{
    return request_on(3 * XS_MIB, NULL);
}

/* An extent that the driver refused to take back is held, and mapped nowhere. */
static void idle_extents(void)
{
    comb(4, 8 * XS_MIB, 2);
    const struct xs_fault fault = {XS_CALL_mem_release, 1, UINT64_MAX, 0, XS_CUDA_ERROR_UNKNOWN, 0};
    xs_fault_add(&fault);
    XT_EQUAL(xseg_empty_cache(0), XSEG_ERROR_DRIVER);
    xs_fault_clear();
    XT_CHECK(xt_stats(0).frag_idle_bytes > 0);
    XT_CHECK(xt_stats(0).frag_idle_bytes < 16 * XS_MIB);
}

static enum xseg_result request_idle(void)
{
    return request_on(12 * XS_MIB, NULL);
}

/* ---- classic ---------------------------------------------------------------------------------- */

static void classic_cached(void)
{
    comb(6, 5 * XS_MIB, 2);
    drop(hold(30 * XS_MIB));
    limit_to_reserved(8 * XS_MIB);
}

static enum xseg_result request_classic(void)
{
    return request_on(34 * XS_MIB, NULL);
}

/* Segments are unused for longer than others when the request comes. */
static void classic_garbage(void)
{
    XT_OK(xseg_set_limit(0, 200 * XS_MIB));
    void *p[4];
    for (unsigned i = 0; i < 4; i++)
        p[i] = hold((20 + 2 * i) * XS_MIB);
    for (unsigned i = 0; i < 4; i++)
        drop(p[i]);
    drop(hold(20 * XS_MIB));
}

static enum xseg_result request_garbage(void)
{
    return request_on(40 * XS_MIB, NULL);
}

/* Both kinds of memory are cached, and the limit makes the one give way to the other. */
static void both_kinds(void)
{
    XT_OK(xseg_configure("expandable_segments:False"));
    drop(hold(32 * XS_MIB));
    XT_OK(xseg_configure("expandable_segments:True"));
    hold(8 * XS_MIB);
    limit_to_reserved(0);
}

static void both_kinds_reversed(void)
{
    drop(hold(32 * XS_MIB));
    hold(8 * XS_MIB);
    XT_OK(xseg_configure("expandable_segments:False"));
    limit_to_reserved(12 * XS_MIB); /* the block that stays pins an extent of eight granules */
}

static enum xseg_result request_other_kind(void)
{
    return request_on(24 * XS_MIB, NULL);
}

static enum xseg_result free_first(void)
{
    const struct model_block block = model.at[0];
    const enum xseg_result e = xseg_free((void *)block.va);
    if (!e)
        model_forget(0);
    return e;
}

/* ---- giving back ------------------------------------------------------------------------------ */

static void cached(void)
{
    comb(12, 6 * XS_MIB, 3);
}

static enum xseg_result trim_to_half(void)
{
    return xseg_trim(0, xt_reserved() - 12 * XS_MIB);
}

static enum xseg_result empty(void)
{
    return xseg_empty_cache(XSEG_CURRENT_DEVICE);
}

static void cached_of_both_kinds(void)
{
    comb(6, 6 * XS_MIB, 2);
    XT_OK(xseg_configure("expandable_segments:False"));
    comb(6, 11 * XS_MIB, 2);
}

/* ---- fences ----------------------------------------------------------------------------------- */

/* The first stream is at work on what was freed there, and the limit leaves nothing else. */
static void two_streams(void)
{
    xt_make_context(0);
    first_stream = xt_new_stream();
    second_stream = xt_new_stream();
    XT_CU(sim.stream_manual(first_stream, true));
    void *p[4];
    for (unsigned i = 0; i < 4; i++)
        p[i] = hold_on(8 * XS_MIB, first_stream);
    hold_on(4 * XS_MIB, second_stream);
    for (unsigned i = 0; i < 4; i++) {
        XT_CU(sim.launch(first_stream, (uintptr_t)p[i], 8 * XS_MIB));
        drop(p[i]);
    }
    limit_to_reserved(0);
}

static enum xseg_result request_on_second(void)
{
    return request_on(24 * XS_MIB, second_stream);
}

static enum xseg_result request_small_on_second(void)
{
    return request_on(64 * XS_KIB, second_stream);
}

/* The stream is at work on what it has freed in two places, so for what it wants next that is mapped twice. */
static void behind(void)
{
    two_streams();
    void *p[4];
    for (unsigned i = 0; i < 4; i++)
        p[i] = hold_on(8 * XS_MIB, first_stream);
    drop(p[1]);
    drop(p[3]);
}

static enum xseg_result request_on_first(void)
{
    return request_on(12 * XS_MIB, first_stream);
}

/* And that has passed since. */
static void aliased(void)
{
    behind();
    XT_OK(request_on_first());
    XT_CHECK(xt_stats(0).extents_aliased > 0);
    XT_CU(cu.cuStreamSynchronize(first_stream));
    XT_OK(xseg_set_limit(0, SIZE_MAX));
}

/* ---- private pools ---------------------------------------------------------------------------- */

static xseg_pool pool;

/* A pool that is held has a free block and a live one; the default pool's free extents are all that it can get. */
static void held_pool(void)
{
    void *p;
    XT_OK(xseg_pool_create(0, 0, &pool));
    XT_OK(xseg_pool_begin(pool));
    hold(8 * XS_MIB);
    p = hold(8 * XS_MIB);
    XT_OK(xseg_pool_end(pool));
    drop(p);
    comb(4, 8 * XS_MIB, 2);
    limit_to_reserved(0);
}

static enum xseg_result request_of_pool(void)
{
    void *p = NULL;
    const enum xseg_result e = xseg_pool_malloc(&p, 12 * XS_MIB, pool, NULL);
    XT_CHECK(!e == (p != NULL));
    if (!e)
        model_add(p, 12 * XS_MIB, 0);
    return e;
}

/* The pool has gone but for a live block; its free extents are all that there is. */
static void dead_pool(void)
{
    XT_OK(xseg_pool_create(0, 0, &pool));
    XT_OK(xseg_pool_begin(pool));
    comb(4, 8 * XS_MIB, 2);
    XT_OK(xseg_pool_destroy(pool));
    hold(2 * XS_MIB);
    limit_to_reserved(0);
}

static enum xseg_result request_12_mib(void)
{
    return request_on(12 * XS_MIB, NULL);
}

static enum xseg_result make_pool(void)
{
    return xseg_pool_create(0, 0, &pool);
}

/* ---- peers ------------------------------------------------------------------------------------ */

static void several_extents(void)
{
    comb(6, 8 * XS_MIB, 2);
    hold(100 * XS_MIB);
}

static enum xseg_result let_peer(void)
{
    return xseg_peer_access(0, 1, true);
}

/* ---- all of them ------------------------------------------------------------------------------ */

static void little_of_both_kinds(void)
{
    comb(3, 4 * XS_MIB, 2);
    XT_OK(xseg_configure("expandable_segments:False"));
    comb(3, 11 * XS_MIB, 2);
}

static enum xseg_result shut_down(void)
{
    return xseg_shutdown();
}

static const struct scenario scenarios[] = {
    {.name = "first use", .set_up = nothing, .act = request_small, .starts = true},
    {.name = "first use, classic",
     .conf = "expandable_segments:False",
     .set_up = nothing,
     .act = request_small,
     .starts = true},
    {.name = "first use, memory info", .set_up = nothing, .act = read_and_limit, .starts = true},
    {.name = "peer", .set_up = several_extents, .act = let_peer},
    {.name = "grow fresh", .set_up = one_block, .act = request_large},
    {.name = "grow fresh, large extents",
     .conf = "extent_min:8M",
     .set_up = one_block,
     .act = request_large},
    {.name = "grow by moving", .set_up = scattered, .act = request_scattered},
    {.name = "grow by trading",
     .conf = "extent_share:2",
     .set_up = crumbs,
     .act = request_for_trade,
     .trades = true},
    {.name = "grow by splitting an extent",
     .set_up = narrow_hole,
     .act = request_20_mib,
     .trades = true},
    {.name = "grow by splitting large extents",
     .set_up = freed_weights,
     .act = request_160_mib,
     .trades = true},
    {.name = "window over several holes", .set_up = several_holes, .act = request_20_mib},
    {.name = "overfill",
     .conf = "extent_min:16M",
     .set_up = full_extent,
     .act = request_overfilled},
    {.name = "grow from idle extents", .set_up = idle_extents, .act = request_idle},
    {.name = "second segment",
     .conf = "va_reserve:16M",
     .set_up = one_block,
     .act = request_large,
     .starts = true},
    {.name = "classic grow",
     .conf = "expandable_segments:False",
     .set_up = one_block,
     .act = request_large},
    {.name = "classic grow after release",
     .conf = "expandable_segments:False",
     .set_up = classic_cached,
     .act = request_classic,
     .releases = true},
    {.name = "classic grow after oversize release",
     .conf = "expandable_segments:False,max_split_size_mb:21",
     .set_up = classic_cached,
     .act = request_classic,
     .releases = true},
    {.name = "classic garbage collection",
     .conf = "expandable_segments:False,garbage_collection_threshold:0.3",
     .set_up = classic_garbage,
     .act = request_garbage,
     .releases = true},
    {.name = "classic gives way",
     .set_up = both_kinds,
     .act = request_other_kind,
     .releases = true},
    {.name = "extents give way",
     .set_up = both_kinds_reversed,
     .act = request_other_kind,
     .releases = true},
    {.name = "uncached request",
     .conf = "backend:cudaMalloc",
     .set_up = one_block,
     .act = request_large},
    {.name = "uncached free", .conf = "backend:cudaMalloc", .set_up = cached, .act = free_first},
    {.name = "trim", .set_up = cached, .act = trim_to_half, .releases = true},
    {.name = "empty cache", .set_up = cached, .act = empty, .releases = true},
    {.name = "empty cache of both kinds",
     .set_up = cached_of_both_kinds,
     .act = empty,
     .releases = true},
    {.name = "wait for another stream", .set_up = two_streams, .act = request_on_second},
    {.name = "look at another stream", .set_up = two_streams, .act = request_small_on_second},
    {.name = "grow by mapping twice", .set_up = behind, .act = request_on_first},
    {.name = "grow after mapping twice",
     .set_up = aliased,
     .act = request_on_first,
     .releases = true},
    {.name = "empty the cache after mapping twice",
     .set_up = aliased,
     .act = empty,
     .releases = true},
    {.name = "first use, a pool", .set_up = nothing, .act = make_pool, .starts = true},
    {.name = "grow a pool by moving", .set_up = held_pool, .act = request_of_pool},
    {.name = "grow at a dead pool's cost", .set_up = dead_pool, .act = request_12_mib},
    {.name = "empty cache beside a held pool", .set_up = held_pool, .act = empty, .releases = true},
    {.name = "empty cache of a dead pool", .set_up = dead_pool, .act = empty, .releases = true},
    {.name = "shutdown", .set_up = little_of_both_kinds, .act = shut_down, .ends = true},
};

#endif
