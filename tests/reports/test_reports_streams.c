/* Reports R08, R37, R38, R42, R46 and R96: streams, captures, threads. */
#include <pthread.h>
#include <time.h>

#include "driver/driver_fault.h"
#include "report_fixture.h"

#define COUNT 500

static xs_cu_stream s1, s2;

static void two_streams(void)
{
    xt_make_context(0);
    s1 = xt_new_stream();
    s2 = xt_new_stream();
}

static void destroy_streams(void)
{
    XT_CU(cu.cuStreamDestroy_v2(s1));
    if (s2)
        XT_CU(cu.cuStreamDestroy_v2(s2));
}

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

/* ---- R46: memory is asked for while a stream captures ----------------------------------------- */

static const int modes[] = {XS_CU_CAPTURE_MODE_GLOBAL, XS_CU_CAPTURE_MODE_THREAD_LOCAL,
                            XS_CU_CAPTURE_MODE_RELAXED};

static void begin_capture(int mode)
{
    snprintf(xt_where, sizeof(xt_where), "capture mode %d", mode);
    XT_CU(cu.cuStreamBeginCapture_v2(s1, mode));
}

static void end_capture(void)
{
    int status;
    XT_CU(cu.cuStreamIsCapturing(s1, &status));
    XT_EQUAL(status, XS_CU_CAPTURE_STATUS_ACTIVE);
    xs_cu_graph graph;
    XT_CU(cu.cuStreamEndCapture(s1, &graph));
    XT_CU(cu.cuGraphDestroy(graph));
}

/* Three cached blocks of 512 MiB, a live one, and a limit that leaves `more`. */
static void fill_cache(size_t more)
{
    two_streams();
    void *p[3];
    for (unsigned i = 0; i < 3; i++)
        p[i] = xt_alloc(512 * XS_MIB);
    for (unsigned i = 0; i < 3; i++)
        xt_free(p[i]);
    set_limit(xt_reserved() + more);
}

/* In each mode `stream` asks for memory that needs a new segment or extents, while s1 captures. */
static void ask_while_capturing(xs_cu_stream stream, size_t bytes, bool must_be_given)
{
    for (size_t i = 0; i < XS_COUNT_OF(modes); i++) {
        begin_capture(modes[i]);
        void *p = xt_try(bytes, stream);
        if (must_be_given && !p)
            XT_FAIL("refused: %s", xseg_last_error());
        if (p)
            XT_CU(sim.launch(stream, (uintptr_t)p, bytes));
        end_capture();
        xt_check();
        if (p)
            xt_free(p);
        XT_CU(cu.cuCtxSynchronize());
        XT_OK(xseg_empty_cache(0));
    }
    destroy_streams();
}

static void r46_grows(void)
{
    fill_cache(2 * XS_GIB);
    ask_while_capturing(s1, 700 * XS_MIB, true);
}

static void r46_grows_beside(void)
{
    fill_cache(2 * XS_GIB);
    ask_while_capturing(s2, 700 * XS_MIB, true);
}

static void r46_full(void)
{
    fill_cache(0);
    ask_while_capturing(s1, 256 * XS_MIB, false);
}

static void r46_full_beside(void)
{
    fill_cache(0);
    ask_while_capturing(s2, 600 * XS_MIB, false);
}

static void r46_empty_cache(void)
{
    fill_cache(0);
    begin_capture(XS_CU_CAPTURE_MODE_GLOBAL);
    xseg_empty_cache(0); /* may keep memory, but not break the capture */
    end_capture();
    destroy_streams();
}

static void r46_freed_beside(void)
{
    fill_cache(2 * XS_GIB);
    void *p = xt_alloc_on(64 * XS_MIB, s2);
    begin_capture(XS_CU_CAPTURE_MODE_GLOBAL);
    xt_free(p);
    xt_free(xt_alloc_on(64 * XS_MIB, s2));
    end_capture();
    destroy_streams();
}

/* ---- R96: a slow driver call holds up nobody who needs no memory ------------------------------ */

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void *grow_slowly(void *unused)
{
    (void)unused;
    void *p = NULL;
    XT_OK(xseg_malloc(&p, 256 * XS_MIB, 0, NULL));
    xt_free(p);
    return NULL;
}

static void r96_hit(void)
{
    pthread_t thread;
    const struct xs_fault slow = {XS_CALL_mem_create, 1, 1, 0, XS_CUDA_SUCCESS, 400000000};
    void *cached = xt_alloc(XS_MIB), *pin = xt_alloc(512); /* so that its extent cannot move */
    xt_free(cached);
    xs_fault_add(&slow);
    XT_EQUAL(pthread_create(&thread, NULL, grow_slowly, NULL), 0);
    const struct timespec moment = {0, 50000000};
    nanosleep(&moment, NULL);
    const double start = seconds();
    for (unsigned i = 0; i < 1000; i++)
        xt_free(xt_alloc(XS_MIB));
    const double taken = seconds() - start;
    pthread_join(thread, NULL);
    xs_fault_clear();
    if (taken > 0.2)
        XT_FAIL("1000 cached pairs took %.3f s", taken);
    xt_check();
    xt_free(pin);
}

static void *grow_many(void *seed)
{
    void *p[16];
    for (unsigned round = 0; round < 30; round++) {
        for (unsigned i = 0; i < 16; i++) {
            const size_t bytes = XS_MIB * (1 + (round + i + *(unsigned *)seed) % 9);
            XT_OK(xseg_malloc(&p[i], bytes, 0, NULL));
            memset(p[i], (int)*(unsigned *)seed, 64);
            memset((char *)p[i] + bytes - 64, (int)*(unsigned *)seed, 64);
        }
        for (unsigned i = 0; i < 16; i++) {
            const unsigned char *bytes = p[i];
            XT_EQUAL(bytes[0], *(unsigned *)seed);
            XT_EQUAL(bytes[XS_MIB * (1 + (round + i + *(unsigned *)seed) % 9) - 1],
                     *(unsigned *)seed);
            xt_free(p[i]);
        }
        if (round % 10 == 9)
            XT_OK(xseg_empty_cache(0));
    }
    return NULL;
}

static void r96_two_grow(void)
{
    pthread_t thread[4];
    unsigned seed[4];
    for (unsigned i = 0; i < 4; i++) {
        seed[i] = i + 1;
        XT_EQUAL(pthread_create(&thread[i], NULL, grow_many, &seed[i]), 0);
    }
    for (unsigned i = 0; i < 4; i++)
        pthread_join(thread[i], NULL);
    xt_check();
    XT_EQUAL(xt_stats(0).allocations.current, 0);
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
        REPORT("R42: destroyed streams leave no garbage", r42_destroyed),
        REPORT("R42: destroyed streams leave no garbage, classic", r42_destroyed, CLASSIC),
        REPORT("R42: a recycled stream value inherits nothing", r42_recycled),
        REPORT("R46: growth on a capturing stream leaves the capture valid", r46_grows),
        REPORT("R46: classic growth on a capturing stream leaves the capture valid", r46_grows,
               CLASSIC),
        REPORT("R46: growth beside a capture leaves it valid", r46_grows_beside),
        REPORT("R46: classic growth beside a capture leaves it valid", r46_grows_beside, CLASSIC),
        REPORT("R46: a full limit leaves the capture valid", r46_full),
        REPORT("R46: a full limit leaves the capture valid, max_split_size_mb", r46_full,
               "ALLOC_CONF=expandable_segments:False,max_split_size_mb:64"),
        REPORT("R46: a full limit beside a capture leaves it valid", r46_full_beside),
        REPORT("R46: emptying the cache leaves the capture valid", r46_empty_cache),
        REPORT("R46: emptying the cache leaves the capture valid, classic", r46_empty_cache,
               CLASSIC),
        REPORT("R46: freeing beside a capture leaves it valid", r46_freed_beside),
        REPORT("R96: a slow growth does not hold up cached requests", r96_hit),
        REPORT("R96: threads that grow at once all succeed", r96_two_grow),
        REPORT("R96: threads that grow at once all succeed, classic", r96_two_grow, CLASSIC),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
