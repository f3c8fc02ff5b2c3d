/* Reports R82, R88, R89, R95 and R96: threads, forks, callbacks, and what a cached request costs. */
#include <pthread.h>
#include <time.h>

#include "base/log.h"
#include "driver/driver_fault.h"
#include "report_fixture.h"

/* ---- R82: fork --------------------------------------------------------------------------------- */

static void *parents[3];

static void r82_child(void)
{
    struct xseg_stats s = {.size = sizeof(s)};
    void *p = NULL;
    XT_EQUAL(xseg_malloc(&p, 4096, 0, NULL), XSEG_ERROR_SHUTDOWN);
    text_says("fork");
    for (unsigned i = 0; i < 3; i++)
        xt_free(parents[i]);
    XT_OK(xseg_get_stats(0, &s));
    XT_EQUAL(s.reserved_bytes.current, s.active_bytes.current + s.cached_bytes.current);
    XT_EQUAL(s.allocated_bytes.current, 12 * XS_KIB + 6 * XS_MIB);
    XT_OK(xseg_empty_cache(0));
    XT_EQUAL(xseg_malloc(&p, 4096, XSEG_CURRENT_DEVICE, NULL), XSEG_ERROR_SHUTDOWN);
    XT_OK(xseg_free_async(parents[0], NULL));
    XT_CHECK(p == NULL);
}

static void r82_unanswered(void)
{
    size_t bytes = 1;
    XT_EQUAL(xseg_pointer_sizes(parents[0], &bytes, NULL), XSEG_ERROR_SHUTDOWN);
    XT_EQUAL(bytes, 1);
    XT_EQUAL(xseg_record_stream(parents[0], NULL), XSEG_ERROR_SHUTDOWN);
    XT_EQUAL(xseg_memory_info(0, &bytes, NULL), XSEG_ERROR_SHUTDOWN);
    XT_EQUAL(xseg_configure("cache:False"), XSEG_ERROR_SHUTDOWN);
}

static void parent_and(void (*child)(void))
{
    for (unsigned i = 0; i < 3; i++) {
        const size_t bytes = i < 2 ? 6 * XS_KIB : 6 * XS_MIB;
        parents[i] = xt_alloc(bytes);
        memset(parents[i], (int)i + 1, bytes);
    }
    xt_free(xt_alloc(XS_MIB)); /* its cache holds something */
    XT_OK(xseg_get_stats(0, &(struct xseg_stats){.size = sizeof(struct xseg_stats)}));
    const uint64_t before = sim.digest();
    XT_EQUAL(run_forked(child), 0);
    XT_EQUAL(sim.digest(), before);
    for (unsigned i = 0; i < 3; i++) {
        const char *data = parents[i];
        XT_CHECK(data[0] == (char)(i + 1) && data[6 * XS_KIB - 1] == (char)(i + 1));
        xt_free(parents[i]);
    }
    xt_check();
}

static void r82(void)
{
    parent_and(r82_child);
}

static void r82_refused(void)
{
    parent_and(r82_unanswered);
}

/* Loading xseg does not start CUDA: a process that has not used it yet may fork. */
static void r82_child_is_first(void)
{
    void *p = xt_alloc(XS_MIB);
    memset(p, 1, XS_MIB);
    xt_free(p);
}

static void r82_before(void)
{
    XT_EQUAL(sim.calls("cuDevicePrimaryCtxRetain"), 0);
    XT_EQUAL(run_forked(r82_child_is_first), 0);
    xt_free(xt_alloc(XS_MIB));
}

/* ---- R88, R95: what a cached pair costs --------------------------------------------------------- */

#define PAIRS 10000

static uint64_t all_calls(void)
{
    uint64_t n = 0;
#define X(symbol, need, params, args) n += sim.calls(#symbol);
    XS_SIM_ENTRY_LIST(X)
#undef X
    return n;
}

static const size_t pair_sizes[] = {1,          512,         64 * XS_KIB,  XS_MIB,
                                    2 * XS_MIB, 20 * XS_MIB, 256 * XS_MIB, 3000};

static void pairs(xs_cu_stream stream, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        xt_free(xt_alloc_on(pair_sizes[i % XS_COUNT_OF(pair_sizes)], stream));
}

/* Driver calls of PAIRS pairs on the stream, once its sizes are cached. */
static uint64_t calls_of_pairs(xs_cu_stream stream)
{
    void *p[XS_COUNT_OF(pair_sizes)];
    for (unsigned i = 0; i < XS_COUNT_OF(p); i++)
        p[i] = xt_alloc_on(pair_sizes[i], stream);
    for (unsigned i = 0; i < XS_COUNT_OF(p); i++)
        xt_free(p[i]);
    const uint64_t before = all_calls();
    pairs(stream, PAIRS);
    return all_calls() - before;
}

static void r95(void)
{
    xt_make_context(0);
    xs_cu_stream vouched = xt_new_stream(), created = xt_new_stream();
    XT_OK(xseg_stream_register(0, vouched));
    XT_EQUAL(calls_of_pairs(NULL), 0);
    XT_EQUAL(calls_of_pairs(XS_CU_STREAM_LEGACY), 0);
    XT_EQUAL(calls_of_pairs(XS_CU_STREAM_PER_THREAD), 0);
    XT_EQUAL(calls_of_pairs(vouched), 0);
    const uint64_t ids = sim.calls("cuStreamGetId"), states = sim.calls("cuStreamIsCapturing");
    const uint64_t calls = calls_of_pairs(created); /* it may have become another stream */
    XT_AT_MOST(calls, 2 * PAIRS); /* and it must not be asked who it is while it captures */
    XT_AT_MOST(calls, sim.calls("cuStreamGetId") - ids + sim.calls("cuStreamIsCapturing") - states);
    XT_OK(xseg_stream_unregister(0, vouched));
    XT_CU(cu.cuStreamDestroy_v2(vouched));
    XT_CU(cu.cuStreamDestroy_v2(created));
}

static void r95_another_thread_frees(void)
{
    void *p = xt_alloc(XS_MIB);
    const uint64_t before = all_calls();
    XT_OK(xseg_pointer_sizes(p, NULL, NULL));
    xt_free(p);
    XT_EQUAL(xseg_free(p), XSEG_ERROR_UNKNOWN_POINTER);
    XT_EQUAL(xseg_free(&p), XSEG_ERROR_UNKNOWN_POINTER);
    XT_EQUAL(all_calls(), before);
}

/* No history is kept: pairs leave nothing behind. */
static void r88(void)
{
    calls_of_pairs(NULL);
    const struct xseg_stats before = xt_stats(0);
    pairs(NULL, 10 * PAIRS);
    const struct xseg_stats after = xt_stats(0);
    XT_EQUAL(after.metadata_bytes, before.metadata_bytes);
    XT_EQUAL(after.cache_hits - before.cache_hits, 10 * PAIRS);
    XT_EQUAL(after.driver_map + after.driver_create, before.driver_map + before.driver_create);
}

/* ---- R89: the log's receiver may do anything ---------------------------------------------------- */

static pthread_mutex_t callers = PTHREAD_MUTEX_INITIALIZER;
static _Atomic unsigned lines;

/* Called with no lock of xseg's held, or this would not come back. */
static void receive(void *ctx, const char *line)
{
    static __thread bool inside;
    (void)ctx;
    (void)line;
    lines++;
    if (inside)
        return;
    inside = true;
    pthread_mutex_lock(&callers);
    xt_free(xt_alloc(XS_MIB));
    xt_free(xt_alloc(64 * XS_MIB));
    xt_stats(0);
    XT_OK(xseg_empty_cache(0));
    XT_OK(xseg_configure("cache_blocks:128"));
    pthread_mutex_unlock(&callers);
    inside = false;
}

static void *hold_and_call(void *stop)
{
    while (!atomic_load((_Atomic bool *)stop)) {
        pthread_mutex_lock(&callers);
        xt_free(xt_alloc(3 * XS_MIB));
        XT_OK(xseg_configure("cache_blocks:64"));
        XT_OK(xseg_empty_cache(0));
        pthread_mutex_unlock(&callers);
        nanosleep(&(struct timespec){0, 100000}, NULL);
    }
    return NULL;
}

/* Two locks, in one order by the caller and in the other by the receiver: none of xseg's may be third. */
static void r89(void)
{
    pthread_t thread;
    _Atomic bool stop = false;
    alarm(300);
    xs_log_redirect(receive, NULL);
    xt_free(xt_alloc(XS_MIB)); /* the environment's string has a line too */
    XT_CHECK(lines > 0);
    XT_EQUAL(pthread_create(&thread, NULL, hold_and_call, &stop), 0);
    for (unsigned i = 0; i < 50; i++)
        XT_OK(xseg_configure("no_such_key:1"));
    atomic_store(&stop, true);
    pthread_join(thread, NULL);
    XT_CHECK(lines >= 50);
    xs_log_redirect(NULL, NULL);
}

/* Also where a line comes from the depth of a request. */
static void r89_fallback(void)
{
    const struct xs_fault none = {XS_CALL_mem_reserve, 1, 1000, 0, XS_CUDA_ERROR_OUT_OF_MEMORY, 0};
    alarm(300);
    xs_log_redirect(receive, NULL);
    XT_OK(xseg_configure("cache_blocks:100"));
    xs_fault_add(&none);
    xt_free(xt_alloc(XS_MIB));
    xs_fault_clear();
    XT_CHECK(lines > 0);
    xs_log_redirect(NULL, NULL);
}

/* ---- the end of a thread is no call, so it may be under way when xseg is shut down -------------- */

#define ENDING 4

static _Atomic unsigned calls_made;

static void *allocate_and_end(void *unused)
{
    (void)unused;
    xt_free(xt_alloc(4096));
    atomic_fetch_add(&calls_made, 1);
    return NULL;
}

static void shutdown_beside_ends(void)
{
    pthread_attr_t detached;
    pthread_t thread;
    pthread_attr_init(&detached);
    pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
    for (unsigned round = 0; round < 300; round++) {
        atomic_store(&calls_made, 0);
        for (unsigned i = 0; i < ENDING; i++)
            XT_EQUAL(pthread_create(&thread, &detached, allocate_and_end, NULL), 0);
        while (atomic_load(&calls_made) < ENDING)
            sched_yield();
        XT_OK(xseg_shutdown());
    }
    pthread_attr_destroy(&detached);
}

/* ---- R96: a slow driver call holds up nobody who needs no memory ------------------------------ */

static _Atomic bool has_grown;

static void *grow_slowly(void *unused)
{
    (void)unused;
    void *p = NULL;
    XT_OK(xseg_malloc(&p, 4 * XS_GIB, 0, NULL));
    atomic_store(&has_grown, true);
    xt_free(p);
    return NULL;
}

/* While the driver is slow, for two seconds, a thousand cached pairs are begun and ended. */
static void r96_slow(enum xs_call call)
{
    pthread_t thread;
    const struct xs_fault slow = {call, 1, 1, 0, XS_CUDA_SUCCESS, 2000000000};
    void *cached = xt_alloc(XS_MIB), *pin = xt_alloc(512); /* so that its extent cannot move */
    xt_free(cached);
    xs_fault_add(&slow);
    XT_EQUAL(pthread_create(&thread, NULL, grow_slowly, NULL), 0);
    nanosleep(&(struct timespec){0, 50000000}, NULL);
    for (unsigned i = 0; i < 1000; i++)
        xt_free(xt_alloc(XS_MIB));
    XT_CHECK(!atomic_load(&has_grown));
    pthread_join(thread, NULL);
    xs_fault_clear();
    xt_check();
    xt_free(pin);
}

static void r96_create(void)
{
    r96_slow(XS_CALL_mem_create);
}

static void r96_map(void)
{
    r96_slow(XS_CALL_mem_map);
}

static _Atomic bool has_opened;

static void *open_another(void *unused)
{
    void *p = NULL;
    (void)unused;
    XT_OK(xseg_malloc(&p, 512, 1, NULL));
    atomic_store(&has_opened, true);
    xt_free(p);
    return NULL;
}

/* Whoever means the current context's device waits for no other device either. */
static void r96_open(void)
{
    pthread_t thread;
    void *p;
    const struct xs_fault slow = {XS_CALL_device_total_mem, 1, 1, 0, XS_CUDA_SUCCESS, 500000000};
    xt_make_context(0);
    xt_free(xt_alloc(XS_MIB));
    xs_fault_add(&slow);
    XT_EQUAL(pthread_create(&thread, NULL, open_another, NULL), 0);
    while (!xs_fault_seen())
        nanosleep(&(struct timespec){0, 1000000}, NULL);
    for (unsigned i = 0; i < 100; i++) {
        XT_OK(xseg_malloc(&p, XS_MIB, XSEG_CURRENT_DEVICE, NULL));
        xt_free(p);
    }
    XT_CHECK(!atomic_load(&has_opened));
    pthread_join(thread, NULL);
    xs_fault_clear();
    XT_OK(xseg_empty_cache(XSEG_CURRENT_DEVICE));
    xt_check_devices(2);
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
        REPORT("R82: a forked child touches nothing of its parent's", r82),
        REPORT("R82: a forked child touches nothing of its parent's, classic", r82, CLASSIC),
        REPORT("R82: what a forked child cannot be told is an error", r82_refused),
        REPORT("R82: a fork before CUDA is used is no fork of a CUDA process", r82_before),
        REPORT("R88: cached pairs keep no history", r88),
        REPORT("R89: the log's receiver may call xseg and take the caller's lock", r89,
               "ALLOC_CONF=no_such_key:1"),
        REPORT("R89: also when a request writes the line", r89_fallback),
        REPORT("R95: a cached pair makes no driver call", r95),
        REPORT("R95: frees and questions make no driver call", r95_another_thread_frees),
        REPORT("threads end while xseg is shut down", shutdown_beside_ends),
        REPORT("R96: the current device is used while another is opened", r96_open,
               "XSEG_SIM_DEVICES=2"),
        REPORT("R96: a slow cuMemCreate does not hold up cached requests", r96_create),
        REPORT("R96: a slow cuMemMap does not hold up cached requests", r96_map),
        REPORT("R96: threads that grow at once all succeed", r96_two_grow),
        REPORT("R96: threads that grow at once all succeed, classic", r96_two_grow, CLASSIC),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
