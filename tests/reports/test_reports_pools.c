/* Reports R48, R50 and R51, and what else users expect of private pools. */
#include <pthread.h>

#include "two_streams.h"
#include "xseg/pools.h"

static xseg_pool new_pool(unsigned flags)
{
    xseg_pool pool;
    XT_OK(xseg_pool_create(0, flags, &pool));
    return pool;
}

static void *pool_alloc(xseg_pool pool, size_t bytes, xs_cu_stream stream)
{
    void *p;
    XT_OK(xseg_pool_malloc(&p, bytes, pool, stream));
    return p;
}

static struct xseg_pool_stats stats_of(xseg_pool pool)
{
    struct xseg_pool_stats s = {.size = sizeof(s)};
    XT_OK(xseg_pool_get_stats(pool, &s));
    return s;
}

static xseg_pool pool_of(const void *p)
{
    xseg_pool pool;
    XT_OK(xseg_pool_of(p, &pool));
    return pool;
}

/* The pool goes, and with it all that is reserved. */
static void nothing_is_left_of(xseg_pool pool)
{
    XT_OK(xseg_pool_destroy(pool));
    if (xt_has_context())
        XT_CU(cu.cuCtxSynchronize());
    XT_OK(xseg_empty_cache(0));
    XT_EQUAL(xt_reserved(), 0);
    XT_EQUAL(xt_stats(0).segments.current, 0);
    xt_check();
}

/* ---- graphs ------------------------------------------------------------------------------------- */

static const int modes[] = {XS_CU_CAPTURE_MODE_GLOBAL, XS_CU_CAPTURE_MODE_THREAD_LOCAL,
                            XS_CU_CAPTURE_MODE_RELAXED};

static void begin_capture(int mode)
{
    snprintf(xt_where, sizeof(xt_where), "capture mode %d", mode);
    XT_OK(xseg_capture(0, true));
    XT_CU(cu.cuStreamBeginCapture_v2(s1, mode));
}

static xs_cu_graph_exec end_capture(void)
{
    xs_cu_graph graph;
    xs_cu_graph_exec exec;
    XT_CU(cu.cuStreamEndCapture(s1, &graph));
    XT_OK(xseg_capture(0, false));
    XT_CU(cu.cuGraphInstantiateWithFlags(&exec, graph, 0));
    XT_CU(cu.cuGraphDestroy(graph));
    return exec;
}

static void launch(xs_cu_graph_exec exec)
{
    XT_CU(cu.cuGraphLaunch(exec, s1));
    XT_CU(cu.cuStreamSynchronize(s1));
    xt_check_violations();
}

/* Two buffers that the graph uses, freed once it is there. */
static xs_cu_graph_exec capture_in(xseg_pool pool, int mode)
{
    void *p[2];
    XT_OK(xseg_pool_begin(pool));
    begin_capture(mode);
    for (unsigned i = 0; i < 2; i++) {
        p[i] = xt_alloc_on((64 + 20 * i) * XS_MIB, s1); /* grows */
        XT_CU(sim.launch(s1, (uintptr_t)p[i], 64 * XS_MIB));
    }
    xs_cu_graph_exec exec = end_capture();
    XT_OK(xseg_pool_end(pool));
    for (unsigned i = 0; i < 2; i++) {
        XT_EQUAL(pool_of(p[i]), pool);
        xt_free(p[i]);
    }
    return exec;
}

/* Memory is wanted and given back elsewhere, until the limit is reached. */
static void churn_elsewhere(void)
{
    void *p[100];
    set_limit(xt_reserved() + 200 * XS_MIB);
    for (unsigned i = 0; i < 100; i++) {
        p[i] = xt_try((i % 7 + 1) * XS_MIB, i % 2 ? s1 : s2);
        XT_CHECK(!p[i] || pool_of(p[i]) == 0);
    }
    for (unsigned i = 0; i < 100; i++)
        if (p[i])
            xt_free(p[i]);
    XT_EQUAL(xseg_malloc(&p[0], XS_GIB, 0, s1), XSEG_ERROR_OUT_OF_MEMORY);
    XT_OK(xseg_empty_cache(0));
    set_limit(SIZE_MAX);
}

static void r48_held(void)
{
    two_streams();
    for (size_t i = 0; i < XS_COUNT_OF(modes); i++) {
        xseg_pool pool = new_pool(0);
        xs_cu_graph_exec exec = capture_in(pool, modes[i]);
        XT_OK(xseg_empty_cache(0));
        XT_AT_MOST(148 * XS_MIB, stats_of(pool).reserved_bytes);
        churn_elsewhere();
        launch(exec);
        launch(exec);
        XT_EQUAL(stats_of(pool).reserved_bytes, xt_reserved());
        XT_EQUAL(stats_of(pool).allocated_bytes, 0);
        XT_EQUAL(xt_stats(0).frag_pool_bytes + xt_stats(0).frag_cache_bytes, xt_reserved());
        XT_CU(cu.cuGraphExecDestroy(exec));
        nothing_is_left_of(pool);
    }
    destroy_streams();
}

/* Peaks are of the time since they were reset; what has been freed since does not count. */
static void peaks(void)
{
    xseg_pool pool = new_pool(0);
    void *p, *q;
    XT_OK(xseg_pool_malloc(&p, 10 * XS_MIB - 100, pool, NULL));
    XT_OK(xseg_pool_malloc(&q, 20 * XS_MIB, pool, NULL));
    void *elsewhere = xt_alloc(50 * XS_MIB);
    xt_free(q);
    struct xseg_pool_stats s = stats_of(pool);
    XT_EQUAL(s.requested_peak, 30 * XS_MIB - 100);
    XT_EQUAL(s.allocated_peak, 30 * XS_MIB);
    XT_EQUAL(s.reserved_peak, s.reserved_bytes);
    XT_EQUAL(s.requested_bytes, 10 * XS_MIB - 100);
    const uint64_t reserved = s.reserved_peak;
    XT_OK(xseg_pool_release(pool));
    XT_OK(xseg_empty_cache(0));
    s = stats_of(pool);
    XT_AT_MOST(s.reserved_bytes, 12 * XS_MIB);
    XT_EQUAL(s.reserved_peak, reserved);
    XT_OK(xseg_reset_peaks(0));
    s = stats_of(pool);
    XT_EQUAL(s.requested_peak, 10 * XS_MIB - 100);
    XT_EQUAL(s.allocated_peak, 10 * XS_MIB);
    XT_EQUAL(s.reserved_peak, s.reserved_bytes);
    xt_free(p);
    xt_free(elsewhere);
    XT_OK(xseg_pool_destroy(pool));
}

/* The second graph reuses what the first has freed, as the program asks for by naming the same pool. */
static void shared_by_two_graphs(void)
{
    two_streams();
    xseg_pool pool = new_pool(0);
    xs_cu_graph_exec first = capture_in(pool, XS_CU_CAPTURE_MODE_GLOBAL);
    size_t reserved = xt_reserved();
    xs_cu_graph_exec second = capture_in(pool, XS_CU_CAPTURE_MODE_GLOBAL);
    XT_EQUAL(xt_reserved(), reserved);
    launch(first);
    launch(second);
    XT_CU(cu.cuGraphExecDestroy(first));
    XT_CU(cu.cuGraphExecDestroy(second));
    nothing_is_left_of(pool);
    destroy_streams();
}

/* What the capture has begun is never ended. */
static void r50_failed(bool end)
{
    two_streams();
    xseg_pool pool = new_pool(0);
    XT_OK(xseg_pool_begin(pool));
    XT_OK(xseg_pool_begin_stream(pool, s2));
    begin_capture(XS_CU_CAPTURE_MODE_GLOBAL);
    void *p = xt_alloc_on(256 * XS_MIB, s1);
    XT_EQUAL(pool_of(p), pool);
    XT_CHECK(cu.cuCtxSynchronize() != XS_CUDA_SUCCESS);
    xs_cu_graph graph;
    XT_CHECK(!end || cu.cuStreamEndCapture(s1, &graph) != XS_CUDA_SUCCESS);
    XT_OK(xseg_capture(0, false));
    XT_CU(cu.cuStreamDestroy_v2(s1));
    sim.clear_violations();
    xt_free(p);
    XT_OK(xseg_pool_release(pool));
    XT_OK(xseg_pool_release(pool));
    nothing_is_left_of(pool);
    XT_CHECK(xs_list_is_empty(&xs_runtime_open_device(0)->routes));
    p = xt_alloc_on(XS_MIB, s2); /* this thread and this stream use it no more */
    XT_EQUAL(pool_of(p), 0);
    xt_free(p);
    XT_EQUAL(xseg_pool_release(pool), XSEG_ERROR_INVALID_VALUE);
    XT_CU(cu.cuStreamDestroy_v2(s2));
}

static void r50_invalidated(void)
{
    r50_failed(true);
}

static void r50_never_ended(void)
{
    r50_failed(false);
}

/* A fork of the capture to s2 and back. */
static void use_on_both(void *p, xs_cu_event event)
{
    XT_CU(sim.launch(s1, (uintptr_t)p, 64 * XS_MIB));
    XT_CU(cu.cuEventRecord(event, s1));
    XT_CU(cu.cuStreamWaitEvent(s2, event, 0));
    XT_CU(sim.launch(s2, (uintptr_t)p, 64 * XS_MIB));
    XT_CU(cu.cuEventRecord(event, s2));
    XT_CU(cu.cuStreamWaitEvent(s1, event, 0));
}

static void r51(bool recorded)
{
    two_streams();
    xseg_pool pool = new_pool(0);
    xs_cu_event event;
    XT_CU(cu.cuEventCreate(&event, XS_CU_EVENT_DISABLE_TIMING));
    XT_OK(xseg_pool_begin(pool));
    begin_capture(XS_CU_CAPTURE_MODE_GLOBAL);
    for (unsigned i = 0; i < 32; i++) {
        void *p = xt_alloc_on(64 * XS_MIB, s1);
        use_on_both(p, event);
        if (recorded)
            XT_OK(xseg_record_stream(p, s2));
        xt_free(p);
    }
    xs_cu_graph_exec exec = end_capture();
    XT_OK(xseg_pool_end(pool));
    size_t expected = (recorded ? 32 : 1) * 64 * XS_MIB;
    XT_AT_MOST(expected, stats_of(pool).reserved_bytes);
    XT_AT_MOST(stats_of(pool).reserved_bytes, expected + expected / 10);
    launch(exec);
    XT_OK(xseg_empty_cache(0));
    XT_EQUAL(stats_of(pool).active_bytes, 0); /* nobody waits any more */
    xt_free(pool_alloc(pool, 64 * XS_MIB, s1));
    XT_AT_MOST(stats_of(pool).reserved_bytes, expected + expected / 10);
    XT_CU(cu.cuGraphExecDestroy(exec));
    XT_CU(cu.cuEventDestroy_v2(event));
    nothing_is_left_of(pool);
    destroy_streams();
}

static void r51_recorded(void)
{
    r51(true);
}

static void r51_joined(void)
{
    r51(false);
}

/* ---- who uses it -------------------------------------------------------------------------------- */

static void *alloc_elsewhere(void *out)
{
    *(void **)out = xt_alloc(XS_MIB);
    return NULL;
}

static void of_the_thread_alone(void)
{
    xseg_pool pool = new_pool(0);
    pthread_t thread;
    void *other;
    XT_OK(xseg_pool_begin(pool));
    void *p = xt_alloc(XS_MIB);
    XT_CHECK(!pthread_create(&thread, NULL, alloc_elsewhere, &other));
    pthread_join(thread, NULL);
    XT_OK(xseg_pool_end(pool));
    void *after = xt_alloc(XS_MIB);
    XT_EQUAL(pool_of(p), pool);
    XT_EQUAL(pool_of(other), 0);
    XT_EQUAL(pool_of(after), 0);
    XT_EQUAL(xseg_pool_end(pool), XSEG_ERROR_INVALID_VALUE);
    text_says("not in use by this thread");
    xt_free(p);
    xt_free(other);
    xt_free(after);
    nothing_is_left_of(pool);
}

static void *begin_and_end_thread(void *pool)
{
    XT_OK(xseg_pool_begin(*(xseg_pool *)pool));
    xt_free(xt_alloc(XS_MIB));
    return NULL;
}

static void of_a_thread_that_ended(void)
{
    xseg_pool pool = new_pool(0);
    pthread_t thread;
    XT_CHECK(!pthread_create(&thread, NULL, begin_and_end_thread, &pool));
    pthread_join(thread, NULL);
    XT_EQUAL(xs_runtime_open_device(0)->main.users, 0);
    XT_CHECK(xs_list_is_empty(&xs_runtime_open_device(0)->routes));
    nothing_is_left_of(pool);
}

static void of_a_stream(void)
{
    two_streams();
    xseg_pool pool = new_pool(0);
    xt_free(xt_alloc_on(XS_MIB, s1)); /* the thread has it cached */
    XT_OK(xseg_pool_begin_stream(pool, s1));
    void *p = xt_alloc_on(XS_MIB, s1), *q = xt_alloc_on(XS_MIB, s2);
    XT_EQUAL(pool_of(p), pool);
    XT_EQUAL(pool_of(q), 0);
    XT_EQUAL(xseg_pool_end_stream(pool, s2), XSEG_ERROR_INVALID_VALUE);
    XT_OK(xseg_pool_end_stream(pool, s1));
    xt_free(p);
    p = xt_alloc_on(XS_MIB, s1);
    XT_EQUAL(pool_of(p), 0);
    xt_free(p);
    xt_free(q);
    nothing_is_left_of(pool);
    destroy_streams();
}

/* As test_nested_mempool has it: the latest counts. */
static void nested(void)
{
    xseg_pool outer = new_pool(0), inner = new_pool(0);
    void *p[3];
    XT_OK(xseg_pool_begin(outer));
    p[0] = xt_alloc(XS_MIB);
    XT_OK(xseg_pool_begin(inner));
    p[1] = xt_alloc(XS_MIB);
    XT_OK(xseg_pool_end(inner));
    p[2] = xt_alloc(XS_MIB);
    XT_OK(xseg_pool_end(outer));
    XT_EQUAL(pool_of(p[0]), outer);
    XT_EQUAL(pool_of(p[1]), inner);
    XT_EQUAL(pool_of(p[2]), outer);
    XT_EQUAL(stats_of(outer).allocations, 2);
    XT_EQUAL(stats_of(outer).requested_bytes, 2 * XS_MIB);
    for (unsigned i = 0; i < 3; i++)
        xt_free(p[i]);
    XT_OK(xseg_pool_destroy(inner));
    nothing_is_left_of(outer);
}

/* What is cached for one pool is found by no other. */
static void caches_are_apart(void)
{
    xseg_pool a = new_pool(0), b = new_pool(0);
    void *p = pool_alloc(a, 1000, NULL);
    xt_free(p);
    void *q = pool_alloc(b, 1000, NULL), *r = xt_alloc(1000);
    XT_EQUAL(pool_of(q), b);
    XT_EQUAL(pool_of(r), 0);
    XT_CHECK(pool_alloc(a, 1000, NULL) == p);
    xt_free(xt_alloc(3000)); /* what the thread has cached is not the pool's */
    XT_OK(xseg_pool_begin(a));
    void *s = xt_alloc(3000);
    XT_EQUAL(pool_of(s), a);
    xt_free(s);
    xt_free(p);
    XT_CHECK(xt_alloc(1000) == p); /* a hit too */
    XT_OK(xseg_pool_end(a));
    s = xt_alloc(3000);
    XT_EQUAL(pool_of(s), 0);
    xt_free(s);
    xt_free(p);
    xt_free(q);
    xt_free(r);
    XT_OK(xseg_pool_destroy(a));
    nothing_is_left_of(b);
}

/* ---- memory ------------------------------------------------------------------------------------- */

/* A thread inside a pool does not keep another from what streams have freed, nor from giving it back. */
static void others_are_not_hindered(void)
{
    two_streams();
    xseg_pool pool = new_pool(0);
    XT_OK(xseg_pool_begin(pool));
    XT_OK(xseg_pool_begin_stream(pool, s2));
    xt_free(xt_alloc_on(XS_MIB, s2));
    XT_OK(xseg_pool_end(pool));
    void *p = xt_alloc_on(256 * XS_MIB, s1);
    XT_CU(sim.launch(s1, (uintptr_t)p, 256 * XS_MIB));
    xt_free(p);
    set_limit(xt_reserved());
    must_fit(256 * XS_MIB); /* of the legacy stream: waits for s1 */
    set_limit(SIZE_MAX);
    XT_OK(xseg_shutdown());
    destroy_streams();
}

/* What a pool holds can serve nobody else, so nobody waits for it. */
static void nobody_waits_for_a_held_pool(void)
{
    two_streams();
    XT_CU(sim.stream_manual(s2, true));
    xseg_pool pool = new_pool(0);
    void *p = pool_alloc(pool, 64 * XS_MIB, s2);
    XT_CU(sim.launch(s2, (uintptr_t)p, 64 * XS_MIB));
    xt_free(p);
    set_limit(xt_reserved());
    XT_CHECK(!xt_try(64 * XS_MIB, s1));
    XT_EQUAL(xt_stats(0).rung_wait, 0);
    XT_EQUAL(sim.stream_advance(s2, SIZE_MAX), 1); /* it was still to be done */
    XT_OK(xseg_pool_release(pool));
    xt_free(xt_alloc_on(64 * XS_MIB, s1));
    set_limit(SIZE_MAX);
    nothing_is_left_of(pool);
    destroy_streams();
}

static void physical_memory_is_shared(void)
{
    xseg_pool pool = new_pool(0);
    void *p = xt_alloc(128 * XS_MIB);
    xt_free(p);
    set_limit(xt_reserved());
    p = pool_alloc(pool, 128 * XS_MIB, NULL); /* the default pool's free extents */
    xt_free(p);
    must_not_fit(128 * XS_MIB); /* the pool is held */
    XT_OK(xseg_pool_release(pool));
    must_fit(128 * XS_MIB);
    xt_check();
    XT_EQUAL(stats_of(pool).reserved_bytes, 0);
    XT_OK(xseg_shutdown());
}

static void memory_outlives_its_pool(void)
{
    xseg_pool pool = new_pool(0);
    void *p = pool_alloc(pool, 8 * XS_MIB, NULL);
    XT_OK(xseg_pool_destroy(pool));
    XT_EQUAL(pool_of(p), 0);
    XT_OK(xseg_empty_cache(0));
    XT_AT_MOST(8 * XS_MIB, xt_reserved());
    xseg_pool next = new_pool(0);
    XT_CHECK(next != pool);
    void *q = pool_alloc(next, 8 * XS_MIB, NULL);
    xt_free(p);
    XT_EQUAL(stats_of(next).allocations, 1);
    xt_free(q);
    nothing_is_left_of(next);
}

static void pools_come_and_go(void)
{
    for (unsigned i = 0; i < 200; i++) {
        xseg_pool pool = new_pool(0);
        xt_free(pool_alloc(pool, 4 * XS_MIB, NULL));
        XT_OK(xseg_pool_destroy(pool));
    }
    XT_AT_MOST(xt_reserved(), 64 * XS_MIB);
    XT_AT_MOST(xt_stats(0).segments.current, 8); /* address space comes back too */
    xt_check();
    XT_OK(xseg_empty_cache(0));
    XT_EQUAL(xt_reserved(), 0);
}

/* As test_mempool_limited_memory_with_allocator has it. */
static void used_on_oom(unsigned flags, bool expected)
{
    xseg_pool pool = new_pool(flags);
    void *p = pool_alloc(pool, 32 * XS_MIB, NULL);
    set_limit(xt_reserved());
    xt_free(p);
    void *q = xt_try(32 * XS_MIB, NULL);
    XT_EQUAL(q != NULL, expected);
    if (expected) {
        XT_CHECK(q == p);
        XT_EQUAL(xt_stats(0).rung_pools, 1);
        xt_free(q);
    }
    xt_check();
    XT_OK(xseg_pool_destroy(pool));
    XT_CHECK((q = xt_try(32 * XS_MIB, NULL)) != NULL); /* its memory is everybody's now */
    xt_free(q);
    XT_OK(xseg_shutdown());
}

static void used_on_oom_if_asked_for(void)
{
    used_on_oom(XSEG_POOL_USE_ON_OOM, true);
}

static void else_not_used_on_oom(void)
{
    used_on_oom(0, false);
}

/* As test_mempool_no_split has it. */
static void no_split(void)
{
    xseg_pool pool = new_pool(XSEG_POOL_NO_SPLIT);
    void *p[4];
    for (unsigned i = 0; i < 4; i++)
        p[i] = pool_alloc(pool, i < 2 ? 9 * XS_MIB : 1000, NULL);
    for (unsigned i = 0; i < 4; i++) {
        XT_EQUAL((uintptr_t)p[i] % (2 * XS_MIB), 0);
        XT_EQUAL(xt_block_bytes(p[i]) % (2 * XS_MIB), 0);
    }
    size_t whole = xt_block_bytes(p[0]);
    xt_free(p[0]);
    xt_free(p[1]);
    XT_OK(xseg_empty_cache(0)); /* empties the caches */
    void *q = pool_alloc(pool, 3 * XS_MIB, NULL);
    XT_EQUAL(xt_block_bytes(q), whole); /* neither cut, nor joined with the other one */
    XT_CHECK(q == p[0] || q == p[1]);
    xt_check();
    xt_free(q);
    xt_free(p[2]);
    xt_free(p[3]);
    xt_check();
    nothing_is_left_of(pool);
}

static void uncached_backend_keeps_pools(void)
{
    xseg_pool pool = new_pool(0);
    void *p = pool_alloc(pool, 4 * XS_MIB, NULL);
    xt_free(p);
    XT_AT_MOST(4 * XS_MIB, stats_of(pool).reserved_bytes);
    XT_CHECK(pool_alloc(pool, 4 * XS_MIB, NULL) == p);
    xt_free(p);
    nothing_is_left_of(pool);
}

static void bad_input(void)
{
    void *p = NULL;
    xseg_pool pool = 4711;
    struct xseg_pool_stats s = {.size = sizeof(s)};
    XT_EQUAL(xseg_pool_destroy(1), XSEG_ERROR_INVALID_VALUE); /* nothing has been used yet */
    XT_EQUAL(xseg_pool_create(0, 128, &pool), XSEG_ERROR_INVALID_VALUE);
    text_says("0x80");
    XT_EQUAL(pool, 4711);
    XT_EQUAL(xseg_pool_create(99, 0, &pool), XSEG_ERROR_NO_DEVICE);
    pool = new_pool(0);
    XT_EQUAL(xseg_pool_malloc(&p, XS_MIB, 0, NULL), XSEG_ERROR_INVALID_VALUE);
    XT_EQUAL(xseg_pool_malloc(&p, XS_MIB, pool + 64, NULL), XSEG_ERROR_INVALID_VALUE);
    text_says("there is none of that name");
    XT_EQUAL(xseg_pool_begin(pool + 1), XSEG_ERROR_INVALID_VALUE); /* device 1's */
    XT_OK(xseg_pool_malloc(&p, 0, pool, NULL));
    XT_CHECK(!p);
    XT_EQUAL(xseg_pool_malloc(&p, (size_t)1 << 60, pool, NULL), XSEG_ERROR_INVALID_VALUE);
    XT_EQUAL(xseg_pool_malloc(&p, (size_t)1 << 50, pool, NULL), XSEG_ERROR_OUT_OF_MEMORY);
    XT_EQUAL(xseg_malloc(&p, ((size_t)1 << 49) + 512, 0, NULL), XSEG_ERROR_OUT_OF_MEMORY);
    XT_EQUAL(xseg_pool_of(&p, &pool), XSEG_ERROR_UNKNOWN_POINTER);
    s.size = 3;
    XT_EQUAL(xseg_pool_get_stats(pool, &s), XSEG_ERROR_INVALID_VALUE);
    XT_OK(xseg_pool_destroy(pool));
    XT_EQUAL(xseg_pool_destroy(pool), XSEG_ERROR_INVALID_VALUE);
    xt_check();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        REPORT("R48: memory of a held pool stays mapped", r48_held),
        REPORT("R48: memory of a held pool stays mapped, classic", r48_held, CLASSIC),
        REPORT("peaks of a pool", peaks),
        REPORT("peaks of a pool, classic", peaks, CLASSIC),
        REPORT("a pool is shared by two graphs", shared_by_two_graphs),
        REPORT("R50: an invalidated capture leaks no pool", r50_invalidated),
        REPORT("R50: an invalidated capture leaks no pool, classic", r50_invalidated, CLASSIC),
        REPORT("R50: a capture that is never ended leaks no pool", r50_never_ended),
        REPORT("R51: recorded on two streams, reused after the capture", r51_recorded),
        REPORT("R51: joined, reused within the capture", r51_joined),
        REPORT("of the thread alone", of_the_thread_alone),
        REPORT("a thread that ends has ended its pools", of_a_thread_that_ended),
        REPORT("of a stream", of_a_stream),
        REPORT("nested", nested),
        REPORT("caches are apart", caches_are_apart),
        REPORT("weakness 11: others are not hindered", others_are_not_hindered),
        REPORT("nobody waits for a held pool", nobody_waits_for_a_held_pool),
        REPORT("physical memory is shared", physical_memory_is_shared),
        REPORT("memory outlives its pool", memory_outlives_its_pool),
        REPORT("memory outlives its pool, classic", memory_outlives_its_pool, CLASSIC),
        REPORT("pools come and go", pools_come_and_go),
        REPORT("use_on_oom: lent", used_on_oom_if_asked_for),
        REPORT("use_on_oom: lent, classic", used_on_oom_if_asked_for, CLASSIC),
        REPORT("use_on_oom: not asked for", else_not_used_on_oom),
        REPORT("no_split", no_split),
        REPORT("backend:cudaMalloc keeps what pools hold", uncached_backend_keeps_pools,
               "ALLOC_CONF=backend:cudaMalloc"),
        REPORT("bad input is refused", bad_input),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
