/*
 * Which stream may have a block, and when: default streams, blocks used or freed on other streams, streams of
 * the past, host callbacks, a second device. R43: what a forgotten declaration reads.
 */
#include <pthread.h>

#include "driver/driver_fault.h"
#include "report_fixture.h"

#define BYTES (4 * XS_MIB)

static xs_cu_stream s1, s2, s3;

/* Of streams that lag: they keep their work. */
static void three_streams(void)
{
    xs_cu_stream *streams[] = {&s1, &s2, &s3};
    xt_make_context(0);
    for (unsigned i = 0; i < 3; i++) {
        *streams[i] = xt_new_stream();
        XT_CU(sim.stream_manual(*streams[i], true));
    }
}

static void destroy_streams(void)
{
    XT_CU(cu.cuStreamDestroy_v2(s1));
    XT_CU(cu.cuStreamDestroy_v2(s2));
    XT_CU(cu.cuStreamDestroy_v2(s3));
}

static void work(xs_cu_stream stream, void *p, size_t bytes)
{
    XT_CU(sim.launch(stream, (uintptr_t)p, bytes));
}

static bool overlap(const void *a, const void *b, size_t bytes)
{
    const uintptr_t x = (uintptr_t)a, y = (uintptr_t)b;
    return x < y + bytes && y < x + bytes;
}

static void note_run(void *flag)
{
    *(bool *)flag = true;
}

/* The point in `stream` from which on it may use what the flag's work has used. */
struct order {
    const bool *before;
    bool broken;
};

static void look_at_order(void *arg)
{
    struct order *order = arg;
    order->broken = !*order->before;
}

/* All that the stream does from now on comes after the work that sets the flag. */
static void must_come_after(xs_cu_stream stream, const bool *flag)
{
    struct order order = {flag, false};
    XT_CU(cu.cuLaunchHostFunc(stream, look_at_order, &order));
    XT_CU(cu.cuStreamSynchronize(stream));
    XT_CHECK(!order.broken);
}

/* ---- record_stream ------------------------------------------------------------------------------ */

static void three_users(void)
{
    three_streams();
    void *p = xt_alloc_on(BYTES, s1);
    work(s2, p, BYTES);
    work(s3, p, BYTES);
    XT_OK(xseg_record_stream(p, s2));
    XT_OK(xseg_record_stream(p, s3));
    XT_OK(xseg_record_stream(p, s2)); /* again: nothing */
    xt_free(p);
    XT_EQUAL(xt_stats(0).active_bytes.current, BYTES);
    XT_EQUAL(xt_stats(0).frag_waiting_bytes, BYTES);
    XT_CU(cu.cuStreamSynchronize(s2));
    XT_OK(xseg_empty_cache(0)); /* s3 has not passed */
    XT_EQUAL(xt_stats(0).frag_waiting_bytes, BYTES);
    XT_CU(cu.cuStreamSynchronize(s3));
    XT_OK(xseg_empty_cache(0));
    XT_EQUAL(xt_reserved(), 0);
    destroy_streams();
}

static void own_stream_is_no_other(void)
{
    three_streams();
    void *p = xt_alloc_on(BYTES, s1);
    XT_OK(xseg_record_stream(p, s1));
    work(s1, p, BYTES);
    xt_free(p);
    XT_EQUAL(xt_stats(0).frag_waiting_bytes, 0);
    void *q = xt_alloc_on(BYTES, s1);
    XT_CHECK(p == q);
    xt_free(q);
    destroy_streams();
}

static void freed_is_unknown(void)
{
    three_streams();
    void *p = xt_alloc_on(BYTES, s1);
    xt_free(p);
    XT_EQUAL(xseg_record_stream(p, s2), XSEG_ERROR_UNKNOWN_POINTER);
    XT_EQUAL(xseg_free_async(p, s2), XSEG_ERROR_UNKNOWN_POINTER);
    XT_EQUAL(xseg_record_stream((char *)p + 512, s2), XSEG_ERROR_UNKNOWN_POINTER);
    void *q = xt_alloc_on(BYTES, s1);
    XT_CHECK(p == q);
    xt_free(q);
    XT_EQUAL(xt_stats(0).frag_waiting_bytes, 0);
    xt_check();
    destroy_streams();
}

/* ---- free_async --------------------------------------------------------------------------------- */

static void freed_on_another(void)
{
    static bool has_run;
    three_streams();
    void *p = xt_alloc_on(BYTES, s1);
    work(s2, p, BYTES);
    XT_CU(cu.cuLaunchHostFunc(s2, note_run, &has_run));
    XT_OK(xseg_free_async(p, s2));
    XT_EQUAL(xseg_free(p), XSEG_ERROR_UNKNOWN_POINTER);
    void *q = xt_alloc_on(BYTES, s2); /* behind that work */
    XT_CHECK(p == q);
    xt_free(q);
    q = xt_alloc_on(BYTES, s1);
    if (overlap(p, q, BYTES))
        must_come_after(s1, &has_run);
    xt_free(q);
    XT_OK(xseg_free_async(NULL, s1));
    xt_check();
    destroy_streams();
}

static void freed_on_its_own(void)
{
    three_streams();
    void *p = xt_alloc_on(BYTES, s1);
    XT_OK(xseg_free_async(p, s1));
    void *q = xt_alloc_on(BYTES, s1);
    XT_CHECK(p == q);
    XT_EQUAL(xt_stats(0).cache_hits, 1);
    xt_free(q);
    destroy_streams();
}

/* ---- the default streams ------------------------------------------------------------------------ */

static void legacy_has_two_names(void)
{
    xt_make_context(0);
    XT_CU(sim.stream_manual(NULL, true));
    void *p = xt_alloc_on(BYTES, NULL);
    work(XS_CU_STREAM_LEGACY, p, BYTES);
    xt_free(p);
    void *q = xt_alloc_on(BYTES, XS_CU_STREAM_LEGACY);
    XT_CHECK(p == q);
    XT_OK(xseg_record_stream(q, NULL));
    XT_OK(xseg_free_async(q, NULL));
    XT_CHECK(xt_alloc_on(BYTES, NULL) == p);
    xt_free(p);
    XT_EQUAL(xt_reserved(), BYTES);
}

static void *others;
static bool others_work_has_run;

/* Work of this thread's own default stream, which lags, and a free behind it. */
static void *use_own_default(void *unused)
{
    (void)unused;
    xt_make_context(0);
    XT_CU(sim.stream_manual(XS_CU_STREAM_PER_THREAD, true));
    others = xt_alloc_on(BYTES, XS_CU_STREAM_PER_THREAD);
    work(XS_CU_STREAM_PER_THREAD, others, BYTES);
    XT_CU(cu.cuLaunchHostFunc(XS_CU_STREAM_PER_THREAD, note_run, &others_work_has_run));
    xt_free(others);
    XT_CHECK(xt_alloc_on(BYTES, XS_CU_STREAM_PER_THREAD) == others);
    xt_free(others);
    xt_drop_context(0);
    return NULL;
}

/* One handle value, and a stream for each thread: also once the thread has ended. */
static void one_stream_for_each_thread(void)
{
    pthread_t thread;
    xt_make_context(0);
    XT_EQUAL(pthread_create(&thread, NULL, use_own_default, NULL), 0);
    pthread_join(thread, NULL);
    XT_CHECK(!others_work_has_run);
    void *p = xt_alloc_on(BYTES, XS_CU_STREAM_PER_THREAD);
    if (overlap(p, others, BYTES))
        must_come_after(XS_CU_STREAM_PER_THREAD, &others_work_has_run);
    XT_CU(cu.cuCtxSynchronize());
    xt_free(p);
    XT_OK(xseg_empty_cache(0));
    XT_EQUAL(xt_reserved(), 0);
}

/* ---- host callbacks ----------------------------------------------------------------------------- */

static uint64_t all_calls(void)
{
    uint64_t n = 0;
#define X(symbol, need, params, args) n += sim.calls(#symbol);
    XS_SIM_ENTRY_LIST(X)
#undef X
    return n;
}

static void
    *in_callback[4]; /* one cached, one used elsewhere, one too large for any bin, a small one */

static void free_all(void *result)
{
    enum xseg_result *e = result;
    for (unsigned i = 0; i < XS_COUNT_OF(in_callback) && !*e; i++)
        *e = xseg_free(in_callback[i]);
}

static void *advance(void *unused)
{
    (void)unused;
    sim.stream_advance(s1, SIZE_MAX);
    return NULL;
}

/* A callback runs on a thread of the driver's, which xseg has not seen before. */
static void free_in_a_callback(void)
{
    pthread_t thread;
    enum xseg_result result = XSEG_OK;
    three_streams();
    const size_t bytes[] = {XS_MIB, BYTES, XS_GIB, 512};
    for (unsigned i = 0; i < XS_COUNT_OF(bytes); i++)
        in_callback[i] = xt_alloc_on(bytes[i], s1);
    XT_OK(xseg_record_stream(in_callback[1], s2));
    XT_CU(cu.cuLaunchHostFunc(s1, free_all, &result));
    const uint64_t before = all_calls();
    XT_EQUAL(pthread_create(&thread, NULL, advance, NULL), 0);
    pthread_join(thread, NULL);
    XT_EQUAL(all_calls(), before);
    XT_EQUAL(result, XSEG_OK);
    XT_EQUAL(xt_stats(0).allocations.current, 0);
    xt_check();
    destroy_streams();
}

/* ---- events ------------------------------------------------------------------------------------- */

/* 10,000 blocks are freed while another stream uses them: the pool of events stays small. */
static void events_are_used_again(void)
{
    size_t most = 0;
    three_streams();
    set_limit(64 * XS_MIB);
    for (unsigned i = 0; i < 10000; i++) {
        xs_cu_stream user = i % 2 ? s2 : s3;
        void *p = xt_alloc_on(XS_MIB << i % 3, s1);
        work(user, p, XS_MIB);
        XT_OK(xseg_record_stream(p, user));
        xt_free(p);
        if (i % 5 == 0)
            sim.stream_advance(user, 8);
        most = xs_max(most, xt_live().events);
    }
    XT_AT_MOST(most, 128);
    xt_check();
    XT_CU(cu.cuCtxSynchronize());
    destroy_streams();
}

/* ---- streams of the past ------------------------------------------------------------------------ */

#define GENERATIONS 9000 /* more than there are indexes of streams */

static void many_streams_one_after_another(void)
{
    xt_make_context(0);
    for (unsigned i = 0; i < GENERATIONS; i++) {
        xs_cu_stream stream = xt_new_stream();
        void *p = xt_alloc_on(XS_MIB, stream);
        work(stream, p, XS_MIB);
        xt_free(p);
        XT_CU(cu.cuStreamDestroy_v2(stream));
        if (i % 1000 == 0)
            xt_check();
    }
    XT_OK(xseg_empty_cache(0));
    XT_EQUAL(xt_reserved(), 0);
    xt_check();
}

#define ALL_INDEXES 4095

static xs_cu_stream first; /* known to a thread that does nothing else */
static void *its_block;
static pthread_barrier_t turn;

static void *know_first(void *unused)
{
    (void)unused;
    xt_free(xt_alloc_on(BYTES, first));
    pthread_barrier_wait(&turn);
    pthread_barrier_wait(&turn);
    its_block = xt_alloc_on(BYTES, first);
    return NULL;
}

/* The record of `first`, which nothing names any more, is taken for another stream by a call that only names
 * that one. A thread that knows `first` does not mistake the two. */
static void record_taken_by_free_async(void)
{
    static xs_cu_stream streams[ALL_INDEXES];
    static void *p[ALL_INDEXES];
    static bool has_run;
    pthread_t thread;
    xt_make_context(0);
    first = streams[0] = xt_new_stream();
    pthread_barrier_init(&turn, NULL, 2);
    XT_EQUAL(pthread_create(&thread, NULL, know_first, NULL), 0);
    pthread_barrier_wait(&turn);
    XT_OK(xseg_empty_cache(0));
    for (unsigned i = 1; i < ALL_INDEXES; i++) {
        streams[i] = xt_new_stream();
        p[i] = xt_alloc_on(512, streams[i]);
    }
    void *q = xt_alloc_on(BYTES, streams[1]);
    xs_cu_stream late = xt_new_stream();
    XT_CU(sim.stream_manual(late, true));
    work(late, q, BYTES);
    XT_CU(cu.cuLaunchHostFunc(late, note_run, &has_run));
    XT_OK(xseg_free_async(q, late));
    XT_OK(xseg_stream_register(0, streams[2])); /* its fence needs no other stream to be done */
    xt_free(p[2]);                              /* so that there is a record for `first` */
    pthread_barrier_wait(&turn);
    pthread_join(thread, NULL);
    if (overlap(its_block, q, BYTES))
        must_come_after(first, &has_run);
    xt_free(its_block);
    for (unsigned i = 1; i < ALL_INDEXES; i++)
        if (i != 2)
            xt_free(p[i]);
    for (unsigned i = 0; i < ALL_INDEXES; i++)
        XT_CU(cu.cuStreamDestroy_v2(streams[i]));
    XT_CU(cu.cuStreamDestroy_v2(late));
}

static void *unregister_first(void *unused)
{
    (void)unused;
    XT_OK(xseg_stream_unregister(0, first));
    return NULL;
}

/* A thread is recording a fence on `first`, whose record nothing names any more, when all other records are in
 * use and a new stream comes. What is freed on that one does not pass with the fence of `first`. */
static void record_taken_while_its_fence_is_recorded(void)
{
    static xs_cu_stream streams[ALL_INDEXES];
    static bool has_run;
    const struct xs_fault slow = {XS_CALL_event_create, 1, 1, 0, XS_CUDA_SUCCESS, 500000000};
    pthread_t thread;
    xt_make_context(0);
    first = streams[0] = xt_new_stream();
    for (unsigned i = 1; i < ALL_INDEXES; i++) {
        streams[i] = xt_new_stream();
        xt_alloc_on(512, streams[i]); /* out of one extent, whose rest is idle */
    }
    xt_alloc_on(1024, streams[1]); /* on both sides, so that p joins nothing */
    void *p = xt_alloc_on(BYTES, first);
    xt_alloc_on(XS_MIB, streams[1]);
    xt_free(p);
    XT_OK(xseg_configure("cache:False"));
    XT_CHECK(xt_alloc_on(BYTES, first) ==
             p); /* so `first` has freed something, and holds nothing free */
    XT_OK(xseg_free_async(p, streams[1]));
    XT_CHECK(xs_fault_add(&slow));
    XT_EQUAL(pthread_create(&thread, NULL, unregister_first, NULL), 0);
    nanosleep(&(struct timespec){0, 200000000}, NULL);
    xs_cu_stream late = xt_new_stream();
    void *q = NULL; /* there may be no record for it until the fence is recorded */
    if (xseg_malloc(&q, BYTES, 0, late) == XSEG_OK) {
        XT_CU(sim.stream_manual(late, true));
        work(late, q, BYTES);
        XT_CU(cu.cuLaunchHostFunc(late, note_run, &has_run));
        xt_free(q);
    }
    pthread_join(thread, NULL);
    xs_fault_clear();
    set_limit(xt_reserved());
    void *r = xt_alloc_on(56 * XS_MIB, streams[1]);
    if (q && (uintptr_t)q - (uintptr_t)r < 56 * XS_MIB)
        must_come_after(streams[1], &has_run);
}

/* ---- another device is current ------------------------------------------------------------------ */

static int current_device(void)
{
    int device = -1;
    XT_CU(cu.cuCtxGetDevice(&device));
    return device;
}

static void another_device_is_current(void)
{
    xt_make_context(1);
    void *p = xt_alloc(BYTES), *q = NULL; /* on device 0 */
    XT_OK(xseg_malloc(&q, BYTES, XSEG_CURRENT_DEVICE, NULL));
    XT_EQUAL(current_device(), 1);
    XT_EQUAL(xt_stats(0).allocated_bytes.current, BYTES);
    XT_EQUAL(xt_stats(1).allocated_bytes.current, BYTES);
    xt_free(p);
    xt_free(q);
    void *r = NULL;
    XT_OK(xseg_malloc(&r, BYTES, 1, NULL));
    XT_CHECK(r == q);
    XT_CHECK(xt_alloc(BYTES) == p);
    xt_free(r);
    xt_free(p);
    xt_check_devices(2);
    XT_OK(xseg_empty_cache(0));
    XT_EQUAL(xt_reserved(), 0);
    XT_EQUAL(xt_stats(1).reserved_bytes.current, BYTES);
    XT_EQUAL(current_device(), 1);
    XT_OK(xseg_shutdown());
    xt_drop_context(1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        REPORT("a block used on three streams waits for all of them", three_users),
        REPORT("a block used on three streams waits for all of them, classic", three_users,
               CLASSIC),
        REPORT("a use on the block's own stream is none", own_stream_is_no_other),
        REPORT("a freed block cannot be declared to be in use", freed_is_unknown),
        REPORT("free_async frees in the order of another stream", freed_on_another),
        REPORT("free_async on the block's own stream is a free", freed_on_its_own),
        REPORT("the legacy stream has two names", legacy_has_two_names),
        REPORT("the per-thread stream is one for each thread", one_stream_for_each_thread),
        REPORT("a free in a host callback makes no driver call", free_in_a_callback),
        REPORT("10,000 frees across streams need few events", events_are_used_again),
        REPORT("more streams over time than there are indexes", many_streams_one_after_another),
        REPORT("a stream whose record was taken is not mistaken", record_taken_by_free_async),
        REPORT("another device is current", another_device_is_current, "XSEG_SIM_DEVICES=2"),
        REPORT("a record taken while its fence is recorded",
               record_taken_while_its_fence_is_recorded, "ALLOC_CONF=extent_min:64M"),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
