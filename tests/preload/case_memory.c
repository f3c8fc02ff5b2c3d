/* What is served, what is the driver's, and what others see of it. */
#include "program.h"

static xs_cu_ptr get(size_t bytes)
{
    xs_cu_ptr va;
    CU(cu.alloc(&va, bytes));
    return va;
}

static void fill_the_cache(size_t bytes)
{
    CU(cu.release_memory(get(bytes)));
    EQUAL(stats().reserved_bytes.current, bytes);
}

/* R36: the cache holds nearly everything, and somebody else asks the driver. */
static void others_get_what_is_cached(void)
{
    xs_cu_ptr va;
    xs_cu_mem mem;
    xs_cu_context second;
    const struct xs_cu_alloc_prop prop = {.type = XS_CU_ALLOCATION_PINNED,
                                          .location = {XS_CU_LOCATION_DEVICE, 0}};
    start();
    fill_the_cache(900 * MIB);
    CU(cu.managed(&va, 512 * MIB, 1));
    CU(cu.release_memory(va));
    fill_the_cache(900 * MIB);
    CU(cu.mem_create(&mem, 512 * MIB, &prop, 0));
    CU(cu.mem_release(mem));
    fill_the_cache(900 * MIB);
    CU(cu.ctx_create(&second, 0, 0)); /* whose memory is the driver's */
    CU(cu.release_memory(get(512 * MIB)));
    EQUAL(sim.calls("cuMemAlloc_v2"), 2);
    CU(cu.ctx_destroy(second));
    no_violations();
}

/* The same with the cache's memory still in use by the GPU. */
static void others_get_what_the_gpu_has_done_with(void)
{
    xs_cu_ptr va;
    xs_cu_stream s;
    start();
    CU(cu.stream_create(&s, XS_CU_STREAM_NON_BLOCKING));
    CU(sim.stream_manual(s, true));
    xs_cu_ptr p = get(900 * MIB);
    CU(cu.set_bytes(p, 1, 4096, s));
    CU(cu.release_memory(p));
    CU(cu.managed(&va, 512 * MIB, 1));
    no_violations();
}

static void out_of_memory_is_the_drivers_code(void)
{
    xs_cu_ptr va, p;
    start();
    p = get(600 * MIB);
    EQUAL(cu.alloc(&va, 600 * MIB), XS_CUDA_ERROR_OUT_OF_MEMORY);
    CU(cu.release_memory(p));
    CU(cu.release_memory(get(600 * MIB)));
    no_violations();
}

static void free_memory_counts_the_cache(void)
{
    size_t free_before, free_after, total;
    start();
    CU(cu.info(&free_before, &total));
    fill_the_cache(256 * MIB);
    CU(cu.info(&free_after, &total));
    EQUAL(free_before, free_after);
    xs_cu_ptr p = get(256 * MIB);
    CU(cu.info(&free_after, &total));
    EQUAL(free_before - free_after, 256 * MIB);
    CU(cu.release_memory(p));
    no_violations();
}

/* preload_memory_info:native */
static void free_memory_can_be_the_drivers(void)
{
    size_t free_before, free_after, total;
    start();
    CU(cu.info(&free_before, &total));
    fill_the_cache(256 * MIB);
    CU(cu.info(&free_after, &total));
    EQUAL(free_before - free_after, 256 * MIB);
    no_violations();
}

/* memory_limit:100M */
static void a_limit_is_what_there_is(void)
{
    size_t free_bytes, total;
    xs_cu_ptr va;
    start();
    xs_cu_ptr p = get(60 * MIB);
    CU(cu.info(&free_bytes, &total));
    EQUAL(total, 100 * MIB);
    EQUAL(free_bytes, 40 * MIB);
    EQUAL(cu.alloc(&va, 60 * MIB), XS_CUDA_ERROR_OUT_OF_MEMORY);
    CU(cu.release_memory(p));
    EQUAL(sim.calls("cuMemAlloc_v2"), 0);
    no_violations();
}

/* R59: one block over many pieces of physical memory. */
static void a_range_is_the_block(void)
{
    xs_cu_ptr base;
    size_t bytes;
    start();
    xs_cu_ptr a = get(300 * MIB), b = get(100 * MIB + 1000), p;
    CHECK(stats().extents.current > 3);
    const size_t offsets[] = {0, 50 * MIB, 100 * MIB + 999};
    unsigned memory_type = 0;
    int asked[] = {11, 2, 12};
    void *answers[] = {&p, &memory_type, &bytes};
    for (int i = 0; i < 3; i++) {
        CU(cu.range(&base, &bytes, b + offsets[i]));
        EQUAL(base, b);
        EQUAL(bytes, 100 * MIB + 1000);
        CU(cu.attribute(&p, 11, b + offsets[i]));
        EQUAL(p, b);
        CU(cu.attribute(&bytes, 12, b + offsets[i]));
        EQUAL(bytes, 100 * MIB + 1000);
        bytes = p = 0;
        CU(cu.attributes(3, asked, answers, b + offsets[i]));
        EQUAL(p, b);
        EQUAL(bytes, 100 * MIB + 1000);
        EQUAL(memory_type, 2); /* of a device, as the driver says */
    }
    CU(cu.release_memory(a));
    CU(cu.release_memory(b));
    no_violations();
}

/* native_from:32M,native_to:64M */
static void some_sizes_are_the_drivers(void)
{
    start();
    xs_cu_ptr a = get(31 * MIB), b = get(32 * MIB), c = get(64 * MIB), d = get(65 * MIB);
    EQUAL(sim.calls("cuMemAlloc_v2"), 2);
    EQUAL(stats().allocations.allocated, 2);
    CU(cu.release_memory(a));
    CU(cu.release_memory(b));
    CU(cu.release_memory(c));
    CU(cu.release_memory(d));
    EQUAL(sim.calls("cuMemFree_v2"), 2);
    no_violations();
}

/* A second context of a device cannot be served: it gets the driver's memory, and all frees find their way. */
static void a_second_context_is_the_drivers(void)
{
    xs_cu_context first = start(), second;
    xs_cu_ptr a = get(MIB);
    CU(cu.ctx_create(&second, 0, 0));
    xs_cu_ptr b = get(MIB);
    EQUAL(sim.calls("cuMemAlloc_v2"), 1);
    CU(cu.set_current(first));
    xs_cu_ptr c = get(MIB);
    EQUAL(sim.calls("cuMemAlloc_v2"), 1);
    CU(cu.release_memory(a));
    CU(cu.release_memory(c));
    CU(cu.release_memory(b));
    EQUAL(stats().allocations.current, 0);
    CU(cu.ctx_destroy(second));
    no_violations();
}

/* R73, R74: what was freed twice, or was nobody's, is not counted. */
static void odd_frees_are_not_counted(void)
{
    start();
    get(MIB);
    for (int i = 0; i < 100; i++) {
        xs_cu_ptr p = get(4096);
        CHECK(cu.release_memory(p + 512) != 0);
        CHECK(cu.free_async(p + 512, NULL) != 0);
        CU(cu.release_memory(p));
        CHECK(cu.release_memory(p) != 0);
        CHECK(cu.free_async(p, NULL) != 0);
        CHECK(cu.release_memory(0x5000) != 0);
        EQUAL(stats().allocations.current, 1);
        EQUAL(stats().allocated_bytes.current, MIB);
    }
    CU(cu.reset(0));
    xs_cu_ptr q = get(MIB);
    EQUAL(stats().allocations.current, 1);
    CU(cu.release_memory(q));
    EQUAL(stats().allocations.current, 0);
}

/* R73: each allocator of the driver with a free that suits it, again and again. */
static void ten_thousand_loops_leave_nothing(void)
{
    xs_cu_ptr p;
    void *pool, *host;
    size_t pitch;
    struct xs_sim_live before, after;
    start();
    CU(cu.default_pool(&pool, 0));
    CU(cu.release_memory(get(MIB)));
    sim.live(&before);
    for (int i = 0; i < 10000; i++) {
        CU(cu.alloc(&p, 8192));
        CU(i % 2 ? cu.release_memory(p) : cu.free_async(p, NULL));
        CU(cu.alloc_async(&p, 8192, NULL));
        CU(i % 2 ? cu.release_memory(p) : cu.free_async(p, NULL));
        CU(cu.pool_alloc(&p, 8192, pool, NULL));
        CU(cu.free_async(p, NULL));
        CU(cu.pitch(&p, &pitch, 100, 10, 4));
        CU(cu.release_memory(p));
        CU(cu.managed(&p, 8192, 1));
        CU(cu.release_memory(p));
        CU(cu.host_alloc(&host, 8192, 0));
        CU(cu.host_free(host));
    }
    sim.live(&after);
    EQUAL(stats().allocations.current, 0);
    EQUAL(stats().allocations.allocated, 40001);
    EQUAL(stats().reserved_bytes.peak, 2 * MIB);
    EQUAL(before.allocs, after.allocs);
    EQUAL(before.used_bytes, after.used_bytes);
    EQUAL(before.host_ranges, after.host_ranges);
    no_violations();
}

/* R91, backend:cudaMalloc: a tool that knows the driver's allocations sees a byte too far. */
static void overruns_are_seen_without_a_cache(void)
{
    start();
    xs_cu_ptr p = get(1000);
    CU(sim.launch(NULL, p, 1000));
    no_violations();
    CU(sim.launch(NULL, p, 1001));
    EQUAL(sim.violations(), 1);
    CU(cu.release_memory(p));
    sim.clear_violations();
}

static void pools(void)
{
    void *pool;
    xs_cu_ptr p;
    start();
    CU(cu.default_pool(&pool, 0));
    CU(cu.pool_alloc(&p, MIB, pool, NULL));
    EQUAL(stats().allocations.allocated, 1);
    CU(cu.free_async(p, NULL));
    EQUAL(sim.calls("cuMemAllocFromPoolAsync"), 0);
    EQUAL(cu.pool_alloc(&p, MIB, &pool, NULL), XS_CUDA_ERROR_INVALID_VALUE);
    EQUAL(sim.calls("cuMemAllocFromPoolAsync"), 1);
    sim.clear_violations();
}

/* ---- captures --------------------------------------------------------------------------------- */

/* R47: cudaMalloc and cudaFree while a stream captures, in each mode. */
static void captures_stay_valid(void)
{
    start();
    xs_cu_stream s;
    CU(cu.stream_create(&s, XS_CU_STREAM_NON_BLOCKING));
    for (int mode = 0; mode < 3; mode++) {
        xs_cu_graph graph;
        xs_cu_ptr p = get(MIB);
        CU(cu.begin_capture(s, mode));
        CU(cu.set_bytes(p, 1, 4096, s));
        xs_cu_ptr q = get((64 + (size_t)mode * 64) * MIB), r = get(MIB);
        CU(cu.release_memory(q));
        CU(cu.release_memory(r));
        CU(cu.end_capture(s, &graph));
        CHECK(graph != NULL);
        CU(cu.graph_destroy(graph));
        CU(cu.release_memory(p));
    }
    no_violations();
}

/* R47, backend:cudaMalloc: what the driver says without us, and a line that says why. */
static void a_capture_without_a_cache_is_as_natively(void)
{
    start();
    xs_cu_stream s;
    xs_cu_ptr p;
    xs_cu_graph graph;
    CU(cu.stream_create(&s, XS_CU_STREAM_NON_BLOCKING));
    CU(cu.begin_capture(s, XS_CU_CAPTURE_MODE_GLOBAL));
    EQUAL(cu.alloc(&p, MIB), XS_CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    EQUAL(cu.end_capture(s, &graph), XS_CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    CU(cu.release_memory(get(MIB)));
}

static void a_capturing_stream_asks_the_driver(void)
{
    start();
    xs_cu_stream s;
    xs_cu_ptr p;
    xs_cu_graph graph;
    CU(cu.stream_create(&s, XS_CU_STREAM_NON_BLOCKING));
    CU(cu.begin_capture(s, XS_CU_CAPTURE_MODE_RELAXED));
    cu.alloc_async(&p, MIB, s);
    EQUAL(sim.calls("cuMemAllocAsync"), 1);
    cu.end_capture(s, &graph);
    CU(cu.alloc_async(&p, MIB, s));
    EQUAL(sim.calls("cuMemAllocAsync"), 1);
    sim.clear_violations();
}

/* No capture is open: a context-wide event says when both streams are done, and the next request has the memory. */
static void frees_of_two_streams_pass(xs_cu_stream t)
{
    xs_cu_ptr p = get(700 * MIB);
    CU(cu.set_bytes(p, 1, 4096, t));
    CU(cu.release_memory(p));
    CU(cu.release_memory(get(700 * MIB)));
    EQUAL(stats().reserved_bytes.peak, 700 * MIB);
    no_violations();
}

/* R50: a capture that is never ended, but whose stream is destroyed, holds nothing up for ever. */
static void an_abandoned_capture_is_over(void)
{
    start();
    xs_cu_stream s, t;
    CU(cu.stream_create(&s, XS_CU_STREAM_NON_BLOCKING));
    CU(cu.stream_create(&t, XS_CU_STREAM_NON_BLOCKING));
    CU(cu.begin_capture(s, XS_CU_CAPTURE_MODE_RELAXED));
    cu.stream_destroy(s);
    sim.clear_violations();
    frees_of_two_streams_pass(t);
}

/* Nor does one that was never begun. */
static void a_refused_capture_is_none(void)
{
    start();
    xs_cu_stream t;
    CU(cu.stream_create(&t, XS_CU_STREAM_NON_BLOCKING));
    CHECK(cu.begin_capture(NULL, XS_CU_CAPTURE_MODE_RELAXED) != XS_CUDA_SUCCESS);
    sim.clear_violations();
    frees_of_two_streams_pass(t);
}

/* ---- peers: two devices ------------------------------------------------------------------------- */

static void peers_reach_memory_of_before_and_after(void)
{
    xs_cu_context first = start(), second;
    CU(cu.retain(&second, 1));
    xs_cu_ptr before = get(40 * MIB);
    CU(cu.set_current(second));
    CU(cu.peer_enable(first, 0));
    CU(sim.launch(NULL, before, 40 * MIB)); /* a kernel of the second device */
    CU(cu.set_current(first));
    xs_cu_ptr after = get(200 * MIB);
    CU(cu.set_current(second));
    CU(sim.launch(NULL, after, 200 * MIB));
    no_violations();
    CU(cu.peer_disable(first));
    CU(sim.launch(NULL, before, 4096));
    EQUAL(sim.violations(), 1);
    sim.clear_violations();
    EQUAL(cu.peer_disable(first), 705);
}

/* Memory that another device still works on is not handed out before that is done. */
static void peers_are_waited_for(void)
{
    xs_cu_context first = start(), second;
    CU(cu.retain(&second, 1));
    xs_cu_ptr p = get(8 * MIB);
    CU(cu.set_current(second));
    CU(cu.peer_enable(first, 0));
    CU(sim.stream_manual(NULL, true));
    CU(sim.launch(NULL, p, 8 * MIB));
    CU(cu.set_current(first));
    CU(cu.release_memory(p));
    CU(cu.set_current(second));
    EQUAL(sim.stream_advance(NULL, SIZE_MAX), 0);
    no_violations();
}

int main(int argc, char **argv)
{
    static const struct test_case cases[] = {
#define X(name) {#name, name}
        X(others_get_what_is_cached),
        X(others_get_what_the_gpu_has_done_with),
        X(out_of_memory_is_the_drivers_code),
        X(free_memory_counts_the_cache),
        X(free_memory_can_be_the_drivers),
        X(a_limit_is_what_there_is),
        X(a_range_is_the_block),
        X(some_sizes_are_the_drivers),
        X(a_second_context_is_the_drivers),
        X(odd_frees_are_not_counted),
        X(ten_thousand_loops_leave_nothing),
        X(overruns_are_seen_without_a_cache),
        X(pools),
        X(captures_stay_valid),
        X(a_capture_without_a_cache_is_as_natively),
        X(a_capturing_stream_asks_the_driver),
        X(an_abandoned_capture_is_over),
        X(a_refused_capture_is_none),
        X(peers_reach_memory_of_before_and_after),
        X(peers_are_waited_for),
#undef X
    };
    return run_case(cases, sizeof(cases) / sizeof(*cases), argc, argv);
}
