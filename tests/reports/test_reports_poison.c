/* Report R43: under the key `poison`, a use on another stream that was not declared reads the poison, and a
 * declared one never does. */
#include <pthread.h>

#include "two_streams.h"

#define BYTES   (2 * XS_MIB)
#define POISON  0xA5
#define CONTENT 0x11
#define KEY     "ALLOC_CONF=poison:165"

static xs_cu_event event;

static void streams_and_event(void)
{
    two_streams();
    XT_CU(sim.stream_manual(s2, true));
    XT_CU(cu.cuEventCreate(&event, XS_CU_EVENT_DISABLE_TIMING));
}

static void destroy(void)
{
    XT_CU(cu.cuCtxSynchronize());
    XT_CU(cu.cuEventDestroy_v2(event));
    destroy_streams();
}

static struct reading {
    const unsigned char *p;
    unsigned char first, last;
} reading;

static void read_now(void *arg)
{
    struct reading *r = arg;
    r->first = r->p[0];
    r->last = r->p[BYTES - 1];
}

/* A block that s1 fills and s2, which lags, reads behind it. */
static void *used_on_both(void)
{
    void *p = xt_alloc_on(BYTES, s1);
    XT_CU(cu.cuMemsetD8Async((uintptr_t)p, CONTENT, BYTES, s1));
    XT_CU(cu.cuEventRecord(event, s1));
    XT_CU(cu.cuStreamWaitEvent(s2, event, 0));
    reading = (struct reading){p, 0, 0};
    XT_CU(cu.cuLaunchHostFunc(s2, read_now, &reading));
    return p;
}

static void expect(unsigned char value)
{
    XT_EQUAL(reading.first, value);
    XT_EQUAL(reading.last, value);
}

static void undeclared(void)
{
    streams_and_event();
    for (unsigned i = 0; i < 3; i++) {
        xt_free(used_on_both());
        XT_CU(cu.cuStreamSynchronize(s2));
        expect(POISON);
    }
    destroy();
}

static void declared(void)
{
    streams_and_event();
    for (unsigned i = 0; i < 100; i++) {
        void *p = used_on_both();
        XT_OK(xseg_record_stream(p, s2));
        xt_free(p);
        void *q = xt_alloc_on(BYTES, s1); /* poisoned in its turn */
        XT_CU(cu.cuStreamSynchronize(s2));
        expect(CONTENT);
        xt_free(q);
    }
    destroy();
}

/* As good as declared: freed behind the reading. */
static void freed_behind(void)
{
    streams_and_event();
    for (unsigned i = 0; i < 100; i++) {
        XT_OK(xseg_free_async(used_on_both(), s2));
        void *q = xt_alloc_on(BYTES, s1);
        XT_CU(cu.cuStreamSynchronize(s2));
        expect(CONTENT);
        xt_free(q);
    }
    destroy();
}

static void *free_it(void *p)
{
    xt_make_context(0);
    xt_free(p);
    xt_drop_context(0);
    return NULL;
}

/* The per-thread stream of the thread that frees is not the block's, and nothing orders a fill on it. */
static void freed_by_another_thread(void)
{
    pthread_t thread;
    xt_make_context(0);
    XT_CU(sim.stream_manual(XS_CU_STREAM_PER_THREAD, true));
    void *p = xt_alloc_on(BYTES, XS_CU_STREAM_PER_THREAD);
    XT_CU(cu.cuMemsetD8Async((uintptr_t)p, CONTENT, BYTES, XS_CU_STREAM_PER_THREAD));
    sim.stream_advance(XS_CU_STREAM_PER_THREAD, SIZE_MAX);
    reading = (struct reading){p, 0, 0};
    XT_CU(cu.cuLaunchHostFunc(XS_CU_STREAM_PER_THREAD, read_now, &reading));
    XT_EQUAL(pthread_create(&thread, NULL, free_it, p), 0);
    pthread_join(thread, NULL);
    XT_CU(cu.cuStreamSynchronize(XS_CU_STREAM_PER_THREAD));
    expect(CONTENT);
}

static void is_filled_with(const unsigned char *p, unsigned char value)
{
    for (size_t i = 0; i < BYTES; i += 4099)
        XT_EQUAL(p[i], value);
    XT_EQUAL(p[BYTES - 1], value);
}

static void off_fills_nothing(void)
{
    streams_and_event();
    xt_free(used_on_both());
    XT_CU(cu.cuStreamSynchronize(s2));
    expect(CONTENT);
    XT_EQUAL(sim.calls("cuMemsetD8Async"), 1);
    destroy();
}

/* Every block, from the moment that the key is set: also those that were cached, or live, by then. */
static void set_later(void)
{
    void *p[8];
    for (unsigned i = 0; i < XS_COUNT_OF(p); i++) {
        p[i] = xt_alloc(BYTES);
        memset(p[i], CONTENT, BYTES);
    }
    xt_free(p[0]);
    XT_OK(xseg_configure("poison:165"));
    for (unsigned i = 1; i < XS_COUNT_OF(p); i++) {
        xt_free(p[i]);
        is_filled_with(p[i], POISON);
    }
    void *q = xt_alloc(BYTES);
    is_filled_with(q, POISON);
    xt_free(q);
    XT_OK(xseg_configure("poison:0"));
    xt_free(xt_alloc(BYTES));
}

static void with_context_set_later(void)
{
    xt_make_context(0);
    set_later();
}

/* A request whose block cannot be filled fails as any other: nothing is lost. */
static void cannot_be_filled(void)
{
    void *p = NULL, *live = xt_alloc(BYTES);
    XT_OK(xseg_free(live));
    const uint64_t before = xt_stats(0).allocated_bytes.current;
    if (xseg_malloc(&p, BYTES, 0, NULL)) {
        XT_CHECK(p == NULL);
        XT_EQUAL(xt_stats(0).allocated_bytes.current, before);
        return;
    }
    is_filled_with(p, POISON);
    xt_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        REPORT("R43: an undeclared use reads the poison", undeclared, KEY),
        REPORT("R43: an undeclared use reads the poison, classic", undeclared,
               "ALLOC_CONF=poison:165,expandable_segments:False"),
        REPORT("R43: a declared use never does", declared, KEY),
        REPORT("R43: nor does one that the free comes behind", freed_behind, KEY),
        REPORT("R43: nor does one on the per-thread stream of another thread",
               freed_by_another_thread, KEY),
        REPORT("R43: off, nothing is filled", off_fills_nothing),
        REPORT("R43: set by a call, it holds for all blocks", with_context_set_later),
        REPORT("R43: also with no context current", set_later),
        REPORT("R43: a request that cannot be filled loses nothing", cannot_be_filled, KEY),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
