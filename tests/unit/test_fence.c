/* Fences: a stamp passes when the work that was queued before its free has run, and never sooner. */
#include "sim_fixture.h"

#include <pthread.h>

#include "base/meta.h"
#include "child.h"
#include "vmm/fence.h"

static struct xs_fences fences;
static struct xs_streams streams;
static xs_cu_stream handles[3]; /* manual streams */
static struct xs_stream *s[3];

static struct xs_stream *get_stream(const struct xs_stream_key *key)
{
    struct xs_stream *stream;
    return xs_streams_get(&streams, key, &stream) == XSEG_OK ? stream : NULL;
}

static struct xs_stream *stream_of(xs_cu_stream handle)
{
    struct xs_stream_key key;
    ok(xs_stream_identify(handle, &key));
    return get_stream(&key);
}

static int make(void **state)
{
    (void)state;
    xs_fences_init(&fences);
    xs_streams_init(&streams);
    for (size_t i = 0; i < XS_COUNT_OF(handles); i++) {
        handles[i] = new_manual_stream();
        s[i] = stream_of(handles[i]);
    }
    return 0;
}

static int end(void **state)
{
    for (size_t i = 0; i < XS_COUNT_OF(handles); i++)
        if (handles[i])
            cu.cuStreamDestroy_v2(handles[i]);
    xs_cu_ctx_synchronize();
    xs_fences_destroy(&fences);
    xs_streams_destroy(&streams);
    return driver_is_clean(state);
}

/* As a free does: without a driver call. */
static uint64_t free_on(struct xs_stream *stream)
{
    return stream->last_stamp = xs_fence_stamp(&fences);
}

static bool poll(void)
{
    bool progress;
    ok(xs_fence_poll(&fences, &progress));
    return progress;
}

static void record(size_t i)
{
    ok(xs_fence_record(&fences, s[i], handles[i]));
}

static void record_context(void)
{
    ok(xs_fence_record(&fences, NULL, NULL));
}

static bool passed(size_t i, uint64_t stamp)
{
    return xs_fence_passed(&fences, s[i], stamp);
}

/* ---- one stream -------------------------------------------------------------------------------- */

static void stamp_passes_once_the_work_before_it_has_run(void **state)
{
    (void)state;
    queue_work(handles[0], 2);
    uint64_t stamp = free_on(s[0]);
    queue_work(handles[0], 1); /* queued after the free, but before the fence */
    record(0);
    assert_false(poll() || passed(0, stamp));
    sim.stream_advance(handles[0], 2);
    assert_false(poll() || passed(0, stamp)); /* a late fence covers more, never less */
    sim.stream_advance(handles[0], 1);
    assert_false(passed(0, stamp)); /* nobody has looked yet */
    assert_true(poll());
    assert_true(passed(0, stamp));
}

static void free_after_the_fence_needs_another(void **state)
{
    (void)state;
    uint64_t before = free_on(s[0]);
    record(0);
    queue_work(handles[0], 1);
    uint64_t after = free_on(s[0]);
    assert_true(after > before);
    assert_true(poll());
    assert_true(passed(0, before));
    assert_false(passed(0, after));
    record(0);
    assert_false(poll() || passed(0, after));
    sim.stream_advance(handles[0], ALL);
    assert_true(poll() && passed(0, after));
}

static void other_streams_are_not_covered(void **state)
{
    (void)state;
    uint64_t stamp = free_on(s[0]);
    assert_int_equal(free_on(s[1]), stamp);
    record(0);
    poll();
    assert_true(passed(0, stamp));
    assert_false(passed(1, stamp));
    assert_false(xs_fence_passed(&fences, NULL, stamp));
}

static void stamp_0_is_always_past(void **state)
{
    (void)state;
    assert_true(xs_fence_passed(&fences, NULL, 0));
    assert_true(passed(0, 0));
    assert_false(passed(0, xs_fence_stamp(&fences)));
}

static void nothing_is_recorded_for_what_is_covered(void **state)
{
    (void)state;
    uint64_t calls = xs_driver_calls(XS_CALL_event_record);
    record(0); /* nothing was freed on it */
    queue_work(handles[0], 1);
    free_on(s[0]);
    free_on(s[0]);
    record(0);
    record(0); /* pending */
    free_on(s[1]);
    record(0);
    assert_int_equal(xs_driver_calls(XS_CALL_event_record), calls + 1);
    assert_int_equal(fences.pending_count, 1);
    free_on(s[0]); /* after the pending one */
    record(0);
    assert_int_equal(xs_driver_calls(XS_CALL_event_record), calls + 2);
    assert_int_equal(fences.pending_count, 2);
    sim.stream_advance(handles[0], ALL);
    poll();
    record(0); /* passed */
    assert_int_equal(xs_driver_calls(XS_CALL_event_record), calls + 2);
    assert_int_equal(fences.pending_count, 0);
}

static void younger_fence_of_another_stream_may_pass_first(void **state)
{
    (void)state;
    queue_work(handles[0], 1);
    uint64_t first = free_on(s[0]);
    record(0);
    uint64_t second = free_on(s[1]);
    record(1);
    assert_true(poll());
    assert_false(passed(0, first));
    assert_true(passed(1, second));
    sim.stream_advance(handles[0], ALL);
    assert_true(poll() && passed(0, first));
}

/* ---- the whole context -------------------------------------------------------------------------- */

static void context_fence_covers_every_stream(void **state)
{
    (void)state;
    for (size_t i = 0; i < 3; i++)
        queue_work(handles[i], 1);
    uint64_t stamp = free_on(s[0]);
    free_on(s[1]), free_on(s[2]);
    record_context();
    sim.stream_advance(handles[0], ALL);
    sim.stream_advance(handles[1], ALL);
    assert_false(poll());
    assert_false(passed(0, stamp)); /* it passes as a whole */
    sim.stream_advance(handles[2], ALL);
    assert_true(poll());
    for (size_t i = 0; i < 3; i++)
        assert_true(passed(i, stamp));
    assert_true(xs_fence_passed(&fences, NULL, stamp));
}

static void context_fence_covers_a_destroyed_stream(void **state)
{
    (void)state;
    queue_work(handles[0], 3);
    uint64_t stamp = free_on(s[0]);
    unsigned long long id = s[0]->key.id;
    ok(cu.cuStreamDestroy_v2(handles[0]));
    handles[0] = NULL;
    record_context();
    sim.stream_advance_id(id, 2);
    assert_false(poll() || passed(0, stamp));
    sim.stream_advance_id(id, 1);
    assert_true(poll() && passed(0, stamp));
}

static void passed_context_fence_takes_older_fences_along(void **state)
{
    (void)state;
    uint64_t first = free_on(s[0]);
    record(0);
    free_on(s[1]);
    record(1);
    record_context();
    uint64_t queries = xs_driver_calls(XS_CALL_event_query);
    assert_int_equal(fences.pending_count, 3);
    bool waited;
    ok(xs_fence_wait_oldest(&fences, false, &waited));
    assert_true(poll());
    assert_int_equal(fences.pending_count, 0);
    assert_true(passed(0, first) && passed(1, first));
    assert_true(xs_driver_calls(XS_CALL_event_query) - queries <= 2);
}

static void stream_needs_no_fence_behind_a_context_fence(void **state)
{
    (void)state;
    queue_work(handles[0], 1);
    free_on(s[0]);
    record_context();
    uint64_t calls = xs_driver_calls(XS_CALL_event_record);
    record(0);
    assert_int_equal(xs_driver_calls(XS_CALL_event_record), calls);
    free_on(s[0]);
    record(0);
    assert_int_equal(xs_driver_calls(XS_CALL_event_record), calls + 1);
}

/* ---- waiting ------------------------------------------------------------------------------------ */

static void wait_is_for_the_oldest_alone(void **state)
{
    (void)state;
    bool waited;
    queue_work(handles[0], 1);
    queue_work(handles[1], 1);
    uint64_t first = free_on(s[0]);
    record(0);
    uint64_t second = free_on(s[1]);
    record(1);
    ok(xs_fence_wait_oldest(&fences, false, &waited));
    assert_true(waited && passed(0, first));
    assert_false(passed(1, second) || poll());
    ok(xs_fence_wait_oldest(&fences, false, &waited));
    assert_true(waited && passed(1, second));
    ok(xs_fence_wait_oldest(&fences, false, &waited));
    assert_false(waited);
}

static void stream_can_wait_for_the_context_on_the_gpu(void **state)
{
    (void)state;
    uint64_t epoch = 99;
    ok(xs_fence_wait_on_stream(&fences, handles[1], &epoch));
    assert_int_equal(epoch, 0); /* no such fence */
    queue_work(handles[0], 1);
    uint64_t stamp = free_on(s[0]);
    record(0);
    ok(xs_fence_wait_on_stream(&fences, handles[1], &epoch));
    assert_int_equal(epoch, 0); /* a stream's own is none */
    free_on(s[0]);
    record_context();
    ok(xs_fence_wait_on_stream(&fences, handles[1], &epoch));
    assert_true(epoch >= stamp);
    queue_work(handles[1], 1);
    assert_int_equal(sim.stream_advance(handles[1], ALL), 0); /* held back */
    assert_int_equal(sim.stream_advance(handles[0], ALL), 1);
    assert_int_equal(sim.stream_advance(handles[1], ALL), 1);
}

static void failure_to_wait_on_a_stream_promises_nothing(void **state)
{
    (void)state;
    uint64_t epoch = 99;
    free_on(s[0]);
    record_context();
    fail_call(XS_CALL_stream_wait_event, 1, XS_CUDA_ERROR_UNKNOWN);
    assert_int_equal(xs_fence_wait_on_stream(&fences, handles[1], &epoch), XSEG_ERROR_DRIVER);
    assert_int_equal(epoch, 0);
}

/* ---- events ------------------------------------------------------------------------------------- */

static void events_are_used_again(void **state)
{
    (void)state;
    for (int round = 0; round < 1000; round++) {
        free_on(s[round % 2]);
        record((size_t)round % 2);
        free_on(s[2]);
        record_context();
        assert_true(poll());
    }
    assert_true(live_events() <= 2);
    assert_int_equal(live_events(), fences.slab.live);
    xs_fences_destroy(&fences); /* with spare ones */
    assert_int_equal(live_events(), 0);
    xs_fences_init(&fences);
    xs_streams_destroy(&streams); /* their marks are of the old epochs */
    s[0] = stream_of(handles[0]);
    free_on(s[0]);
    record(0);
    assert_int_equal(live_events(), 1);
    xs_fences_destroy(&fences); /* with a pending one */
    assert_int_equal(live_events(), 0);
    xs_fences_init(&fences);
}

/* ---- failures ----------------------------------------------------------------------------------- */

/* The call fails once: an error, nothing pending, nothing passed, no event lost; then it works. */
static void expect_failed_record(enum xs_call call, bool context)
{
    uint64_t stamp = free_on(s[0]);
    size_t events = live_events(), spare = fences.slab.live;
    fail_call(call, 1, XS_CUDA_ERROR_UNKNOWN);
    assert_int_equal(xs_fence_record(&fences, context ? NULL : s[0], handles[0]),
                     XSEG_ERROR_DRIVER);
    assert_int_equal(xs_driver_last_error()->call, call);
    assert_int_equal(fences.pending_count, 0);
    assert_true(xs_list_is_empty(&fences.pending));
    assert_int_equal(live_events() - events, fences.slab.live - spare);
    assert_false(poll() || passed(0, stamp));
    xs_fault_clear();
    ok(xs_fence_record(&fences, context ? NULL : s[0], handles[0]));
    assert_int_equal(fences.pending_count, 1);
    assert_true(poll() && passed(0, stamp));
    assert_true(live_events() <= 1);
}

static void failure_to_record_changes_nothing(void **state)
{
    (void)state;
    expect_failed_record(XS_CALL_event_create, false);
    expect_failed_record(XS_CALL_event_record, false);
    expect_failed_record(XS_CALL_ctx_get_current, true);
    expect_failed_record(XS_CALL_ctx_record_event, true);
}

static void failure_to_look_changes_nothing(void **state)
{
    (void)state;
    bool progress, waited;
    uint64_t stamp = free_on(s[0]);
    record(0);
    fail_call(XS_CALL_event_query, 1, XS_CUDA_ERROR_ILLEGAL_ADDRESS);
    assert_int_equal(xs_fence_poll(&fences, &progress), XSEG_ERROR_DRIVER);
    assert_false(progress || passed(0, stamp));
    fail_call(XS_CALL_event_synchronize, 1, XS_CUDA_ERROR_ILLEGAL_ADDRESS);
    assert_int_equal(xs_fence_wait_oldest(&fences, false, &waited), XSEG_ERROR_DRIVER);
    assert_false(waited || passed(0, stamp));
    assert_int_equal(fences.pending_count, 1);
    assert_true(poll() && passed(0, stamp));
}

/* ---- captures ----------------------------------------------------------------------------------- */

/* Frees and questions make no driver call, so a capture does not notice them. */
static void free_during_a_capture_leaves_it_valid(void **state)
{
    (void)state;
    xs_cu_graph graph;
    ok(cu.cuStreamBeginCapture_v2(handles[0], XS_CU_CAPTURE_MODE_GLOBAL));
    queue_work(handles[0], 1);
    uint64_t stamp = free_on(s[0]);
    assert_false(passed(0, stamp));
    ok(cu.cuStreamEndCapture(handles[0], &graph));
    assert_non_null(graph);
    ok(cu.cuGraphDestroy(graph));
    record(0);
    assert_true(poll() && passed(0, stamp));
}

static void poll_that_a_capture_forbids_changes_nothing(void **state)
{
    (void)state;
    xs_cu_graph graph = NULL;
    bool progress;
    uint64_t stamp = free_on(s[1]);
    record(1);
    ok(cu.cuStreamBeginCapture_v2(handles[0], XS_CU_CAPTURE_MODE_GLOBAL));
    assert_int_equal(xs_fence_poll(&fences, &progress), XSEG_ERROR_DRIVER);
    assert_false(progress || passed(1, stamp));
    cu.cuStreamEndCapture(handles[0], &graph);
    assert_true(poll() && passed(1, stamp));
    sim.clear_violations();
}

/* ---- streams whose record is taken again ---------------------------------------------------------- */

static void pending_fence_of_a_forgotten_stream_does_no_harm(void **state)
{
    (void)state;
    queue_work(handles[0], 1);
    free_on(s[0]);
    record(0);
    /* what xs_streams_get() does once the indexes run out; the fence still points to the record */
    s[0]->key.id = s[1]->key.id + 1000;
    s[0]->last_stamp = 0;
    uint64_t stamp = free_on(s[0]);
    sim.stream_advance(handles[0], ALL);
    assert_true(poll());
    assert_false(passed(0, stamp));
}

/* ---- threads ------------------------------------------------------------------------------------ */

static void *free_and_record(void *arg)
{
    size_t i = (size_t)(uintptr_t)arg;
    xs_cu_result code = cu.cuCtxSetCurrent(primary);
    bool progress, waited;
    size_t bad = code != XS_CUDA_SUCCESS;
    for (int round = 0; round < 300; round++) {
        uint64_t stamp = free_on(s[i]);
        bad += xs_fence_record(&fences, round % 7 ? s[i] : NULL, handles[i]) != XSEG_OK;
        bad += xs_fence_poll(&fences, &progress) != XSEG_OK;
        while (!passed(i, stamp) && !bad)
            bad += xs_fence_wait_oldest(&fences, false, &waited) != XSEG_OK;
    }
    return (void *)bad;
}

static void threads_get_their_own_frees_past(void **state)
{
    (void)state;
    pthread_t threads[3];
    for (size_t i = 0; i < 3; i++)
        pthread_create(&threads[i], NULL, free_and_record, (void *)i);
    for (size_t i = 0; i < 3; i++) {
        void *bad;
        pthread_join(threads[i], &bad);
        assert_null(bad);
    }
    assert_int_equal(live_events(), fences.slab.live);
}

/* ---- drivers without cuCtxRecordEvent --------------------------------------------------------------- */

static int record_without_context_events(void)
{
    char path[512];
    snprintf(path, sizeof(path), "%s/without_extra.so", getenv("XSEG_TEST_FAKES"));
    CHILD_CHECK(xs_driver_load(path) == XSEG_OK);
    xs_fences_init(&fences);
    CHILD_CHECK(xs_fence_record(&fences, NULL, NULL) == XSEG_ERROR_NOT_SUPPORTED);
    CHILD_CHECK(strstr(xs_error_text(), "cuCtxRecordEvent"));
    CHILD_CHECK(fences.pending_count == 0 && fences.slab.live == 0);
    return 0;
}

static void without_context_events_that_is_said(void **state)
{
    (void)state;
    assert_child_passes(record_without_context_events);
}

int main(void)
{
#define FENCE_TEST(f) cmocka_unit_test_setup_teardown(f, make, end)
    const struct CMUnitTest in_children[] = {cmocka_unit_test(without_context_events_that_is_said)};
    const struct CMUnitTest tests[] = {
        FENCE_TEST(stamp_passes_once_the_work_before_it_has_run),
        FENCE_TEST(free_after_the_fence_needs_another),
        FENCE_TEST(other_streams_are_not_covered),
        FENCE_TEST(stamp_0_is_always_past),
        FENCE_TEST(nothing_is_recorded_for_what_is_covered),
        FENCE_TEST(younger_fence_of_another_stream_may_pass_first),
        FENCE_TEST(context_fence_covers_every_stream),
        FENCE_TEST(context_fence_covers_a_destroyed_stream),
        FENCE_TEST(passed_context_fence_takes_older_fences_along),
        FENCE_TEST(stream_needs_no_fence_behind_a_context_fence),
        FENCE_TEST(wait_is_for_the_oldest_alone),
        FENCE_TEST(stream_can_wait_for_the_context_on_the_gpu),
        FENCE_TEST(failure_to_wait_on_a_stream_promises_nothing),
        FENCE_TEST(events_are_used_again),
        FENCE_TEST(failure_to_record_changes_nothing),
        FENCE_TEST(failure_to_look_changes_nothing),
        FENCE_TEST(free_during_a_capture_leaves_it_valid),
        FENCE_TEST(poll_that_a_capture_forbids_changes_nothing),
        FENCE_TEST(pending_fence_of_a_forgotten_stream_does_no_harm),
        FENCE_TEST(threads_get_their_own_frees_past),
    };
    int failed = cmocka_run_group_tests(in_children, NULL, NULL);
    return failed + cmocka_run_group_tests(tests, start_simulator, NULL);
}
