/* Reports R08, R37, R38, R42: memory of one stream is wanted by another, or by none. */
#include "driver/driver_fault.h"
#include "two_streams.h"

#define COUNT 500

/* ---- R08: free memory of two streams, alternating --------------------------------------------- */

static void alternate(void)
{
    static void *p[COUNT];
    two_streams();
    set_limit(2 * XS_GIB);
    for (unsigned i = 0; i < COUNT; i++)
        p[i] = xt_alloc_on(4 * XS_MIB, i % 2 ? s2 : s1);
    for (unsigned i = 0; i < COUNT; i++)
        xt_free(p[i]);
    XT_CU(cu.cuStreamSynchronize(s1));
    XT_CU(cu.cuStreamSynchronize(s2));
}

static void r08(void)
{
    alternate();
    void *p = xt_alloc_on(1536 * XS_MIB, s1);
    xt_check();
    xt_free(p);
    destroy_streams();
}

static void r08_destroyed(void)
{
    alternate();
    XT_CU(cu.cuStreamDestroy_v2(s2));
    s2 = NULL;
    void *p = xt_alloc_on(1536 * XS_MIB, s1);
    xt_check();
    xt_free(p);
    destroy_streams();
}

/* ---- R37, R38: memory that the GPU still works on --------------------------------------------- */

static void r37(void)
{
    two_streams();
    XT_CU(sim.stream_manual(s1, true));
    for (unsigned i = 0; i < 200; i++) {
        void *p = xt_alloc_on(28 * XS_MIB, s1);
        XT_CU(sim.launch(s1, (uintptr_t)p, 28 * XS_MIB));
        xt_free(p);
        if (i % 10 == 0)
            XT_OK(xseg_empty_cache(0)); /* must not unmap under the kernels */
        xt_check();
    }
    XT_EQUAL(xt_reserved(), 28 * XS_MIB);
    XT_CU(cu.cuStreamSynchronize(s1));
    XT_OK(xseg_empty_cache(0));
    XT_EQUAL(xt_reserved(), 0);
    destroy_streams();
}

static void count_run(void *n)
{
    ++*(uint64_t *)n;
}

static void r38(void)
{
    two_streams();
    XT_CU(sim.stream_manual(s1, true));
    XT_CU(sim.stream_manual(s2, true));
    set_limit(4 * XS_GIB);
    for (unsigned i = 0; i < 64; i++) {
        xs_cu_stream stream = i % 2 ? s2 : s1;
        void *p = xt_alloc_on(1800 * XS_MIB, stream);
        XT_CU(sim.launch(stream, (uintptr_t)p, 1800 * XS_MIB));
        xt_free(p);
        xt_check();
        p = xt_alloc_on(256 * XS_MIB, stream);
        XT_CU(sim.launch(stream, (uintptr_t)p, 256 * XS_MIB));
        xt_free(p);
    }
    XT_EQUAL(xt_stats(0).out_of_memory, 0);
    XT_AT_MOST(xt_stats(0).reserved_bytes.peak, 4 * XS_GIB);
    XT_CU(cu.cuCtxSynchronize());
    destroy_streams();
}

/* The blocks of pile_up(), and at its place in s1 a look at whether s2 is done with the memory. */
static struct pile {
    uintptr_t p;
    uint64_t needed; /* uses that have run on s2 by then */
    bool broken;
} pile[64];
static uint64_t done;

static void look_at_pile(void *arg)
{
    struct pile *at = arg;
    at->broken = done < at->needed;
}

static void queue_look(unsigned i, const void *p)
{
    pile[i].p = (uintptr_t)p;
    for (unsigned k = 0; k < i; k++)
        if (pile[k].p < pile[i].p + 256 * XS_MIB && pile[i].p < pile[k].p + 256 * XS_MIB)
            pile[i].needed = k + 1;
    XT_CU(cu.cuLaunchHostFunc(s1, look_at_pile, &pile[i]));
}

/* As reported: each block is used on a second stream that lags behind. */
static void pile_up(void)
{
    xs_cu_event event;
    two_streams();
    XT_CU(cu.cuEventCreate(&event, XS_CU_EVENT_DISABLE_TIMING));
    XT_CU(sim.stream_manual(s1, true));
    XT_CU(sim.stream_manual(s2, true));
    set_limit(4 * XS_GIB);
    for (unsigned i = 0; i < 64; i++) {
        void *p = xt_alloc_on(256 * XS_MIB, s1);
        queue_look(i, p);
        XT_CU(cu.cuEventRecord(event, s1));
        XT_CU(cu.cuStreamWaitEvent(s2, event, 0));
        XT_CU(sim.launch(s2, (uintptr_t)p, 256 * XS_MIB));
        XT_CU(cu.cuLaunchHostFunc(s2, count_run, &done));
        XT_OK(xseg_record_stream(p, s2));
        xt_free(p);
        XT_CU(sim.launch(s1, 0, 0));
        xt_check();
        if (i < 16) {
            XT_EQUAL(done, 0); /* there was room */
            XT_EQUAL(xt_stats(0).frag_waiting_bytes, (i + 1) * 256 * XS_MIB);
        }
    }
    XT_CHECK(done < 64); /* nobody waited for all of it */
    XT_EQUAL(xt_stats(0).out_of_memory, 0);
    XT_AT_MOST(xt_stats(0).reserved_bytes.peak, 4 * XS_GIB);
    XT_CU(cu.cuCtxSynchronize());
    XT_CU(cu.cuEventDestroy_v2(event));
    for (unsigned i = 0; i < XS_COUNT_OF(pile); i++)
        XT_CHECK(!pile[i].broken);
}

static uint64_t host_waits(void)
{
    return sim.calls("cuEventSynchronize") + sim.calls("cuStreamSynchronize");
}

static void r38_borrows(void)
{
    pile_up();
    XT_EQUAL(host_waits(), 0);
    XT_CHECK(xt_stats(0).rung_borrow > 0);
    XT_EQUAL(xt_stats(0).rung_wait, 0);
    destroy_streams();
}

static void r38_waits(void)
{
    pile_up();
    XT_EQUAL(xt_stats(0).rung_borrow, 0);
    XT_CHECK(xt_stats(0).rung_wait > 0);
    XT_AT_MOST(host_waits(), 64);
    destroy_streams();
}

/* A GPU that has failed is no want of memory. */
static void r38_waits_for_a_dead_gpu(void)
{
    const struct xs_fault dead = {XS_CALL_event_synchronize, 1, UINT64_MAX, 0,
                                  XS_CUDA_ERROR_UNKNOWN,     0};
    void *q = NULL;
    two_streams();
    XT_OK(xseg_stream_register(0, s1));
    XT_CU(sim.stream_manual(s1, true));
    set_limit(64 * XS_MIB);
    void *p = xt_alloc_on(60 * XS_MIB, s1);
    XT_CU(sim.launch(s1, (uintptr_t)p, 60 * XS_MIB));
    xt_free(p);
    XT_CHECK(xs_fault_add(&dead));
    XT_EQUAL(xseg_malloc(&q, 40 * XS_MIB, 0, s2), XSEG_ERROR_DRIVER);
    text_says("cuEventSynchronize");
    xs_fault_clear();
    xt_free(xt_alloc_on(40 * XS_MIB, s2));
    xt_check();
    destroy_streams();
}

/* ---- R42: streams come and go ----------------------------------------------------------------- */

static void r42_destroyed(void)
{
    xt_make_context(0);
    for (unsigned i = 0; i < 100; i++) {
        xs_cu_stream stream = xt_new_stream();
        void *p = xt_alloc_on(8 * XS_MIB, stream);
        xt_free(p);
        XT_CU(cu.cuStreamDestroy_v2(stream));
        xt_check();
    }
    xt_free(must_fit(8 * XS_MIB));
    XT_AT_MOST(xt_reserved(), 24 * XS_MIB);
}

/* A stream with the value of one that was destroyed while it worked. */
static xs_cu_stream stream_with_value(xs_cu_stream value)
{
    xs_cu_stream others[64], found = NULL;
    unsigned n = 0;
    while (n < 64 && !found) {
        xs_cu_stream stream = xt_new_stream();
        if (stream == value)
            found = stream;
        else
            others[n++] = stream;
    }
    while (n)
        XT_CU(cu.cuStreamDestroy_v2(others[--n]));
    return found;
}

static void note_run(void *flag)
{
    *(bool *)flag = true;
}

/* What the old stream's kernel uses is not given to the new one before the kernel has run. */
static void r42_recycled(void)
{
    static bool has_run;
    xt_make_context(0);
    xs_cu_stream old = xt_new_stream();
    XT_CU(sim.stream_manual(old, true));
    char *p = xt_alloc_on(8 * XS_MIB, old);
    XT_CU(sim.launch(old, (uintptr_t)p, 8 * XS_MIB));
    XT_CU(cu.cuLaunchHostFunc(old, note_run, &has_run));
    xt_free(p);
    XT_CU(cu.cuStreamDestroy_v2(old)); /* while the kernel is queued */
    s1 = stream_with_value(old);
    XT_CHECK(s1 != NULL);
    char *q = xt_alloc_on(8 * XS_MIB, s1);
    XT_CHECK(has_run || q >= p + 8 * XS_MIB || p >= q + 8 * XS_MIB);
    xt_check();
    XT_CU(cu.cuCtxSynchronize());
    xt_free(q);
    void *r = xt_alloc_on(16 * XS_MIB, s1); /* now all of it can be had */
    XT_EQUAL(xt_reserved(), 16 * XS_MIB);
    xt_free(r);
    XT_CU(cu.cuStreamDestroy_v2(s1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        REPORT("R08: neighbours freed on two streams serve one request", r08),
        REPORT("R08: also when one of the streams is gone", r08_destroyed),
        REPORT("R08: neighbours freed on two streams, classic", r08, CLASSIC),
        REPORT("R08: also when one of the streams is gone, classic", r08_destroyed, CLASSIC),
        REPORT("R37: nothing is unmapped under a kernel", r37),
        REPORT("R38: waiting for the oldest work comes before a refusal", r38),
        REPORT("R38: the GPU waits for blocks in use elsewhere, the host does not", r38_borrows),
        REPORT("R38: the host waits for the oldest work only", r38_waits,
               "ALLOC_CONF=cross_stream_wait:False"),
        REPORT("R38: a wait that fails is told as such", r38_waits_for_a_dead_gpu,
               "ALLOC_CONF=cross_stream_wait:False"),
        REPORT("R42: destroyed streams leave no garbage", r42_destroyed),
        REPORT("R42: destroyed streams leave no garbage, classic", r42_destroyed, CLASSIC),
        REPORT("R42: a recycled stream value inherits nothing", r42_recycled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
