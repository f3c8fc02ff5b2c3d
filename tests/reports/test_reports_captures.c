/* Report R46: memory is asked for, freed and given back while a stream captures. */
#include <pthread.h>
#include <time.h>

#include "driver/driver_fault.h"
#include "two_streams.h"

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

/* What the thread has cached for the stream is found by the stream's id, for which it must not be asked now. */
static void r46_hits(void)
{
    two_streams();
    void *p = xt_alloc_on(XS_MIB, s1);
    xt_free(p);
    for (size_t i = 0; i < XS_COUNT_OF(modes); i++) {
        begin_capture(modes[i]);
        void *q = xt_alloc_on(XS_MIB, s1);
        XT_CHECK(q != p); /* the graph may run beside what was freed before */
        xt_free(q);
        void *again = xt_alloc_on(XS_MIB, s1);
        XT_CHECK(again == q);
        xt_free(again);
        end_capture();
        void *after = xt_alloc_on(XS_MIB, s1);
        XT_CHECK(after == p);
        xt_free(after);
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

/* A blocking stream captures, in the order of which the legacy stream's work comes; both names of that stream. */
static void r46_legacy_beside(void)
{
    const xs_cu_stream legacy[] = {NULL, XS_CU_STREAM_LEGACY};
    fill_cache(0);
    XT_CU(cu.cuStreamDestroy_v2(s1));
    XT_CU(cu.cuStreamCreate(&s1, XS_CU_STREAM_DEFAULT));
    for (size_t i = 0; i < XS_COUNT_OF(legacy); i++) {
        set_limit(SIZE_MAX);
        void *old = xt_alloc_on(600 * XS_MIB, legacy[i]);
        begin_capture(XS_CU_CAPTURE_MODE_RELAXED);
        xt_free(old);
        void *p = xt_alloc_on(700 * XS_MIB, legacy[i]); /* grows */
        set_limit(xt_reserved());
        void *q = xt_try(900 * XS_MIB, legacy[i]); /* takes every rung */
        end_capture();
        xt_check();
        xt_free(p);
        if (q)
            xt_free(q);
        XT_OK(xseg_empty_cache(0));
    }
    destroy_streams();
}

/* Of a stream that xseg is never passed. */
static void r46_empty_cache(void)
{
    fill_cache(0);
    XT_OK(xseg_capture(0, true));
    begin_capture(XS_CU_CAPTURE_MODE_GLOBAL);
    XT_OK(xseg_empty_cache(0)); /* may keep memory, but not break the capture */
    end_capture();
    XT_OK(xseg_capture(0, false));
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

/* ---- what has been announced ------------------------------------------------------------------- */

#define MANY 100

/* Streams that the caller vouches for are asked, however many there are. */
static void r46_many_vouched(void)
{
    static xs_cu_stream many[MANY];
    two_streams();
    for (unsigned i = 0; i < MANY; i++) {
        many[i] = xt_new_stream();
        XT_OK(xseg_stream_register(0, many[i]));
    }
    for (unsigned i = 0; i < MANY; i += 11) {
        XT_CU(cu.cuStreamBeginCapture_v2(many[i], XS_CU_CAPTURE_MODE_GLOBAL));
        xt_free(xt_alloc_on(64 * XS_MIB, s2));
        xt_free(xt_alloc_on(65 * XS_MIB, s1)); /* wants what s2 has freed */
        XT_OK(xseg_empty_cache(0));
        int status;
        XT_CU(cu.cuStreamIsCapturing(many[i], &status));
        XT_EQUAL(status, XS_CU_CAPTURE_STATUS_ACTIVE);
        xs_cu_graph graph;
        XT_CU(cu.cuStreamEndCapture(many[i], &graph));
        XT_CU(cu.cuGraphDestroy(graph));
    }
    for (unsigned i = 0; i < MANY; i++) {
        XT_OK(xseg_stream_unregister(0, many[i]));
        XT_CU(cu.cuStreamDestroy_v2(many[i]));
    }
    destroy_streams();
}

/* A stream that neither xseg nor the caller names captures; the program has said so. */
static void r46_announced(void)
{
    fill_cache(2 * XS_GIB);
    void *p = xt_alloc_on(64 * XS_MIB, s2);
    XT_OK(xseg_capture(0, true));
    begin_capture(XS_CU_CAPTURE_MODE_GLOBAL);
    xt_free(p);
    xt_free(xt_alloc(700 * XS_MIB));
    XT_OK(xseg_empty_cache(0));
    end_capture();
    XT_OK(xseg_capture(0, false));
    XT_OK(xseg_empty_cache(0));
    XT_EQUAL(xt_reserved(), 0);
    destroy_streams();
}

/* An end too many is refused, and takes nothing from the next capture. */
static void r46_ended_twice(void)
{
    fill_cache(0);
    XT_OK(xseg_capture(0, true));
    XT_OK(xseg_capture(0, false));
    XT_EQUAL(xseg_capture(0, false), XSEG_ERROR_INVALID_VALUE);
    XT_OK(xseg_capture(0, true));
    begin_capture(XS_CU_CAPTURE_MODE_GLOBAL);
    XT_OK(xseg_empty_cache(0));
    end_capture();
    XT_OK(xseg_capture(0, false));
    destroy_streams();
}

/* ---- captures that begin while an event is about to be recorded ------------------------------------ */

static void *empty_cache(void *unused)
{
    (void)unused;
    XT_OK(xseg_empty_cache(0));
    return NULL;
}

static void *ask_on_s2(void *unused)
{
    (void)unused;
    xt_free(xt_alloc_on(40 * XS_MIB, s2));
    return NULL;
}

/* Another thread does something; its first call of the entry takes its time, and meanwhile a capture begins. */
static void capture_during(void *(*does)(void *), enum xs_call call, bool announced)
{
    const struct xs_fault slow = {call, 1, 1, 0, XS_CUDA_SUCCESS, 500000000};
    pthread_t thread;
    XT_CHECK(xs_fault_add(&slow));
    XT_EQUAL(pthread_create(&thread, NULL, does, NULL), 0);
    nanosleep(&(struct timespec){0, 200000000}, NULL);
    if (announced)
        XT_OK(xseg_capture(0, true));
    begin_capture(XS_CU_CAPTURE_MODE_GLOBAL);
    pthread_join(thread, NULL);
    xs_fault_clear();
    end_capture();
    if (announced)
        XT_OK(xseg_capture(0, false));
}

/* A capture that is announced waits for the event. */
static void r46_begins_beside_context_event(void)
{
    two_streams();
    xt_free(xt_alloc_on(8 * XS_MIB, s2));
    capture_during(empty_cache, XS_CALL_ctx_record_event, true);
    destroy_streams();
}

/* Of a stream that is vouched for: its event becomes part of the capture. Nothing counts on it, and it is never asked for. */
static void r46_takes_an_event(void)
{
    two_streams();
    XT_OK(xseg_stream_register(0, s1));
    xt_free(xt_alloc_on(8 * XS_MIB, s1));
    capture_during(ask_on_s2, XS_CALL_event_record, false);
    xt_free(xt_alloc_on(80 * XS_MIB, s2));
    set_limit(96 * XS_MIB);
    xt_free(xt_alloc_on(90 * XS_MIB, s2)); /* with what s1 has freed */
    xt_check();
    XT_OK(xseg_stream_unregister(0, s1));
    destroy_streams();
}

/* What was freed on streams that are gone comes back although a vouched stream once captured that is gone too.
 * (Of one that nobody vouches for, xseg cannot know that its capture is over.) */
static void r46_forgotten(void)
{
    two_streams();
    XT_OK(xseg_stream_register(0, s1));
    begin_capture(XS_CU_CAPTURE_MODE_GLOBAL);
    void *p = xt_alloc_on(32 * XS_MIB, s1);
    end_capture();
    xt_free(p);
    xt_free(xt_alloc_on(64 * XS_MIB, s2));
    XT_OK(xseg_stream_unregister(0, s1));
    destroy_streams();
    XT_OK(xseg_empty_cache(0));
    XT_EQUAL(xt_reserved(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        REPORT("R46: a hit on a capturing stream leaves the capture valid", r46_hits),
        REPORT("R46: growth on a capturing stream leaves the capture valid", r46_grows),
        REPORT("R46: classic growth on a capturing stream leaves the capture valid", r46_grows,
               CLASSIC),
        REPORT("R46: growth beside a capture leaves it valid", r46_grows_beside),
        REPORT("R46: classic growth beside a capture leaves it valid", r46_grows_beside, CLASSIC),
        REPORT("R46: a full limit leaves the capture valid", r46_full),
        REPORT("R46: a full limit leaves the capture valid, max_split_size_mb", r46_full,
               "ALLOC_CONF=expandable_segments:False,max_split_size_mb:64"),
        REPORT("R46: a full limit beside a capture leaves it valid", r46_full_beside),
        REPORT("R46: growth on the legacy stream beside a capture leaves it valid",
               r46_legacy_beside),
        REPORT("R46: classic growth on the legacy stream beside a capture leaves it valid",
               r46_legacy_beside, CLASSIC),
        REPORT("R46: emptying the cache leaves the capture valid", r46_empty_cache),
        REPORT("R46: emptying the cache leaves the capture valid, classic", r46_empty_cache,
               CLASSIC),
        REPORT("R46: freeing beside a capture leaves it valid", r46_freed_beside),
        REPORT("R46: one of many vouched streams captures", r46_many_vouched),
        REPORT("R46: an announced capture on a stream that xseg does not know", r46_announced),
        REPORT("R46: a capture begins while a context-wide event is recorded",
               r46_begins_beside_context_event),
        REPORT("R46: a capture takes the event of its stream", r46_takes_an_event),
        REPORT("R46: the end of a capture that has not begun", r46_ended_twice),
        REPORT("R46: a capture that is over is forgotten", r46_forgotten),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
