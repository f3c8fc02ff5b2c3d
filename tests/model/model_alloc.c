/*
 * Random operations on xseg, compared with a naive model after every step.
 *
 *   model_alloc [STEPS [SEED]]        or XSEG_MODEL_STEPS, XSEG_MODEL_SEED; the policy is ALLOC_CONF
 *
 * Checked at once: no two live blocks overlap, no block is smaller than the request, its alignment,
 * its sizes, its data when it is freed, and that no stream comes to its work on memory that another
 * stream's queued work may still use. Checked every XSEG_MODEL_CHECK steps (default 64), and after every step
 * that changes the policy, a limit or the cache: all statistics against the model's sums and against
 * what the simulated driver holds, the library's own invariants, and that the driver was not misused.
 */
#include <inttypes.h>

#include "model_blocks.h"
#include "model_pools.h"
#include "model_random.h"
#include "model_streams.h"

#define LIVE_BYTES (768 * XS_MIB)

static struct {
    uint64_t step;
    uint64_t check_every;
    size_t target;   /* live bytes that the present phase tends to */
    size_t limit;    /* as set */
    size_t most;     /* that may be reserved: the limit, or what was reserved before it was set */
    bool expandable; /* new requests come from extents */
    bool caches;     /* not backend:cudaMalloc */
    bool policy_may_change;
    size_t granule;
    size_t divisions; /* of roundup_power2_divisions; 0: none */
    uint64_t allocs, frees, refusals, aliases;
    size_t peak_reserved;
} run;

/* ---- sizes ------------------------------------------------------------------------------------ */

static size_t log_uniform(unsigned least_log2, unsigned most_log2)
{
    const unsigned log2 = (unsigned)random_between(least_log2, most_log2 - 1);
    return ((size_t)1 << log2) + random_below((size_t)1 << log2);
}

/* As a training step has them: most are small, some come again and again, few are large. */
static size_t random_size(void)
{
    static const size_t layers[] = {
        512,     4096,           65536,          786432,          XS_MIB,      1049088,
        2097152, 2 * XS_MIB + 1, 3 * XS_MIB / 2, 8 * XS_MIB + 24, 12 * XS_MIB, 32 * XS_MIB,
    };
    const uint64_t kind = random_below(100);
    if (kind < 35)
        return log_uniform(0, 12);
    if (kind < 60)
        return log_uniform(12, 20);
    if (kind < 80)
        return layers[random_below(XS_COUNT_OF(layers))];
    return kind < 97 ? log_uniform(20, 24) : log_uniform(24, 26);
}

/* ---- checks ----------------------------------------------------------------------------------- */

static void check_all(void)
{
    const struct xseg_stats s = xt_stats(0);
    xt_check_stats(&s);
    XT_EQUAL(s.requested_bytes.current, model.requested);
    XT_EQUAL(s.allocated_bytes.current, model.allocated);
    XT_EQUAL(s.allocations.current, model.count);
    XT_AT_MOST(s.reserved_bytes.current, run.most);
    run.most = xs_max(run.limit, s.reserved_bytes.current);
    run.peak_reserved = xs_max(run.peak_reserved, s.reserved_bytes.current);
    run.aliases = s.extents_aliased;
    xt_check();
    pools_check();
    streams_check_orders();
    if (run.caches)
        XT_EQUAL(xt_live().used_bytes, s.reserved_bytes.current);
}

static void synchronize(void)
{
    XT_CU(cu.cuCtxSynchronize());
}

/* ---- allocating and freeing ------------------------------------------------------------------- */

static void given(void *p, size_t bytes, unsigned stream)
{
    model_add(p, bytes, stream);
    streams_check_given(stream, (uintptr_t)p, xt_block_bytes(p));
    run.allocs++;
}

static void free_at(size_t i)
{
    const struct model_block block = model_remove(i);
    const unsigned other = (unsigned)random_below(MODEL_STREAMS);
    const uint64_t kind = random_below(100);
    if (kind < 8) { /* another stream uses it too */
        streams_use(other, block.va, block.allocated);
        XT_OK(xseg_record_stream((void *)block.va, streams.handle[other]));
        streams_freed(other, block.va, block.allocated);
    } else if (kind < 16) { /* the other one's order counts from here on */
        streams_wait(other, block.stream);
        streams_use(other, block.va, block.allocated);
        streams_freed(other, block.va, block.allocated);
    }
    streams_freed(block.stream, block.va, block.allocated);
    if (kind >= 8 && kind < 16)
        XT_OK(xseg_free_async((void *)block.va, streams.handle[other]));
    else
        xt_free((void *)block.va);
    run.frees++;
}

static void step_free(void)
{
    if (model.count)
        free_at(random_below(model.count));
}

/* Extents can be put together for any request, so with an idle GPU only the limit is a reason. */
static void check_refusal(size_t bytes, unsigned stream)
{
    if (run.limit == SIZE_MAX)
        XT_FAIL("%zu bytes refused without a limit: %s", bytes, xseg_last_error());
    if (!strstr(xseg_last_error(), "out of memory"))
        XT_FAIL("a refusal that does not say so: %s", xseg_last_error());
    if (!run.expandable || !run.caches)
        return;
    synchronize();
    void *p = xt_try(bytes, streams.handle[stream]);
    if (p) {
        given(p, bytes, stream);
        return;
    }
    const struct xseg_stats s = xt_stats(0);
    const size_t kept = s.reserved_bytes.current - s.frag_free_bytes - s.frag_idle_bytes;
    const size_t rounded = run.divisions ? bytes + bytes / run.divisions : bytes;
    if (kept + xs_round_up(rounded, run.granule) + run.granule <= run.limit)
        XT_FAIL("%zu bytes refused, although %zu of %zu could be given: %s", bytes,
                run.limit - kept, run.limit, xseg_last_error());
}

static void step_alloc(void)
{
    const size_t bytes = random_size();
    const unsigned stream = (unsigned)random_below(MODEL_STREAMS);
    if (model.count == MODEL_MAX_BLOCKS - 1 || model.requested + bytes > LIVE_BYTES) {
        step_free();
        return;
    }
    void *p = pools_try(bytes, streams.handle[stream]);
    if (p) {
        given(p, bytes, stream);
        return;
    }
    run.refusals++;
    check_refusal(bytes, stream);
    check_all();
    for (unsigned i = 0; i < 8; i++)
        step_free();
}

static void step_alloc_or_free(void)
{
    const bool grows = model.requested < run.target;
    if (random_below(100) < (grows ? 60 : 40))
        step_alloc();
    else
        step_free();
}

/* ---- everything else -------------------------------------------------------------------------- */

static void step_use(void)
{
    if (!model.count)
        return;
    const struct model_block *block = &model.at[random_below(model.count)];
    streams_use(block->stream, block->va, block->requested);
}

static void step_advance(void)
{
    sim.stream_advance(streams.handle[random_below(MODEL_MANUAL)], random_between(1, 40));
}

static void step_synchronize(void)
{
    if (random_below(4))
        XT_CU(cu.cuStreamSynchronize(streams.handle[random_below(MODEL_STREAMS)]));
    else
        synchronize();
}

static void step_empty(void)
{
    if (random_below(2))
        synchronize();
    XT_OK(xseg_empty_cache(0));
    check_all();
}

static void step_trim(void)
{
    const size_t keep = random_below(2 * LIVE_BYTES);
    const size_t before = xt_reserved();
    XT_OK(xseg_trim(0, keep));
    XT_AT_MOST(xt_reserved(), before);
    check_all();
}

static void step_configure(void)
{
    if (!run.policy_may_change)
        return;
    run.expandable = random_below(2);
    XT_OK(
        xseg_configure(run.expandable ? "expandable_segments:True" : "expandable_segments:False"));
    check_all();
}

static void step_limit(void)
{
    check_all();
    run.limit = random_below(3) ? random_between(XS_MIB, 2 * LIVE_BYTES) : SIZE_MAX;
    run.most = xs_max(run.limit, xt_reserved());
    XT_OK(xseg_set_limit(0, run.limit));
    size_t limit;
    XT_OK(xseg_get_limit(0, &limit));
    XT_EQUAL(limit, run.limit);
    check_all();
}

static void step_refused_free(void)
{
    int foreign;
    XT_EQUAL(xseg_free(&foreign), XSEG_ERROR_UNKNOWN_POINTER);
    if (!model.count)
        return;
    const struct model_block *block = &model.at[random_below(model.count)];
    if (block->allocated > 1)
        XT_EQUAL(xseg_free((char *)block->va + random_between(1, block->allocated - 1)),
                 XSEG_ERROR_UNKNOWN_POINTER);
}

static void step_info(void)
{
    size_t free_bytes, total;
    XT_OK(xseg_memory_info(0, &free_bytes, &total));
    XT_AT_MOST(free_bytes, total);
    if (random_below(2))
        XT_OK(xseg_reset_peaks(0));
    else
        XT_OK(xseg_reset_totals(0));
    check_all();
}

static void step_pools(void)
{
    pools_step();
    check_all();
}

static void step_phase(void)
{
    run.target = random_below(LIVE_BYTES);
}

/* Of 10000 steps; what is left of them allocates or frees. */
static const struct {
    unsigned share;
    void (*step)(void);
} kinds[] = {
    {800, step_use}, {300, step_advance}, {60, step_synchronize}, {10, step_empty},
    {10, step_trim}, {4, step_configure}, {6, step_limit},        {20, step_refused_free},
    {4, step_info},  {5, step_phase},     {6, step_pools},
};

static void step(void)
{
    uint64_t dice = random_below(10000);
    for (size_t i = 0; i < XS_COUNT_OF(kinds); i++) {
        if (dice < kinds[i].share) {
            kinds[i].step();
            return;
        }
        dice -= kinds[i].share;
    }
    step_alloc_or_free();
}

/* ---- the program ------------------------------------------------------------------------------ */

static uint64_t setting(const char *argument, const char *variable, uint64_t fallback)
{
    const char *text = argument ? argument : getenv(variable);
    return text ? strtoull(text, NULL, 0) : fallback;
}

static bool conf_has(const char *text)
{
    const char *conf = getenv("ALLOC_CONF");
    return conf && strstr(conf, text);
}

static void begin(void)
{
    xt_load_simulator();
    xt_make_context(0);
    streams_begin();
    const struct xs_cu_alloc_prop prop = {.type = XS_CU_ALLOCATION_PINNED,
                                          .location = {XS_CU_LOCATION_DEVICE, 0}};
    XT_CU(cu.cuMemGetAllocationGranularity(&run.granule, &prop, XS_CU_GRANULARITY_MINIMUM));
    run.caches = !conf_has("backend:cudaMalloc");
    run.expandable = run.caches && !conf_has("expandable_segments:False");
    run.divisions = conf_has("divisions:4") ? 4 : 0;
    run.policy_may_change = !conf_has("divisions") && !conf_has("max_split");
    run.target = LIVE_BYTES / 2;
    XT_OK(xseg_get_limit(0, &run.limit));
    run.most = run.limit;
}

/* All is freed, and nothing stays cached or behind. */
static void end(void)
{
    while (model.count)
        free_at(model.count - 1);
    check_all();
    for (unsigned i = 0; i < MODEL_POOLS; i++)
        pools_end(i);
    synchronize();
    XT_OK(xseg_empty_cache(0));
    check_all();
    XT_EQUAL(xt_reserved(), 0);
    XT_OK(xseg_shutdown());
    streams_end();
    xt_drop_context(0);
    xt_check_nothing_left();
}

int main(int argc, char **argv)
{
    const uint64_t steps = setting(argc > 1 ? argv[1] : NULL, "XSEG_MODEL_STEPS", 200000);
    const uint64_t seed = setting(argc > 2 ? argv[2] : NULL, "XSEG_MODEL_SEED", random_new_seed());
    run.check_every = xs_max(1, setting(NULL, "XSEG_MODEL_CHECK", 64));
    random_state = seed;
    begin();
    for (run.step = 0; run.step < steps; run.step++) {
        snprintf(xt_where, sizeof(xt_where), "step %" PRIu64 " of seed %" PRIu64, run.step, seed);
        step();
        if (run.step % run.check_every == 0)
            check_all();
    }
    end();
    printf("%" PRIu64 " steps, seed %" PRIu64 ": %" PRIu64 " allocated, %" PRIu64 " freed, %" PRIu64
           " refused, %" PRIu64 " extents mapped twice, peak %zu MiB: as the model\n",
           steps, seed, run.allocs, run.frees, run.refusals, run.aliases,
           run.peak_reserved / XS_MIB);
    return 0;
}
