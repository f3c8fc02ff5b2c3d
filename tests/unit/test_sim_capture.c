/* The simulator's stream capture: what is allowed meanwhile, what breaks it, what graphs do. */
#include "test_sim_driver.h"

#include <pthread.h>

static const int modes[] = {XS_CU_CAPTURE_MODE_GLOBAL, XS_CU_CAPTURE_MODE_THREAD_LOCAL,
                            XS_CU_CAPTURE_MODE_RELAXED};

static xs_cu_stream stream, other;
static xs_cu_event event;

static int set_up(void **state)
{
    (void)state;
    return cu.cuStreamCreate(&stream, XS_CU_STREAM_NON_BLOCKING) ||
           cu.cuStreamCreate(&other, XS_CU_STREAM_NON_BLOCKING) || cu.cuEventCreate(&event, 0);
}

static int tear_down(void **state)
{
    return cu.cuStreamDestroy_v2(stream) || cu.cuStreamDestroy_v2(other) ||
           cu.cuEventDestroy_v2(event) || check_clean(state);
}

static int status_of(xs_cu_stream which)
{
    int status = -1;
    ok(cu.cuStreamIsCapturing(which, &status));
    return status;
}

static void begin(int mode)
{
    ok(cu.cuStreamBeginCapture_v2(stream, mode));
    assert_int_equal(status_of(stream), XS_CU_CAPTURE_STATUS_ACTIVE);
}

static void ends_valid(void)
{
    xs_cu_graph graph = NULL;
    ok(cu.cuStreamEndCapture(stream, &graph));
    assert_non_null(graph);
    ok(cu.cuGraphDestroy(graph));
    assert_int_equal(status_of(stream), XS_CU_CAPTURE_STATUS_NONE);
}

static void ends_invalid(void)
{
    xs_cu_graph graph = (xs_cu_graph)1;
    assert_int_equal(status_of(stream), XS_CU_CAPTURE_STATUS_INVALIDATED);
    fails(XS_CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cu.cuStreamEndCapture(stream, &graph));
    assert_null(graph);
    assert_int_equal(status_of(stream), XS_CU_CAPTURE_STATUS_NONE);
}

/* ---- allowed in every mode ------------------------------------------------------------------- */

static void memory_can_grow_during_a_capture(void **state)
{
    (void)state;
    size_t left, total;
    for (size_t i = 0; i < XS_COUNT_OF(modes); i++) {
        begin(modes[i]);
        const xs_cu_ptr va = map_new(GRANULE);
        ok(sim.launch(stream, va, GRANULE));
        ok(cu.cuMemGetInfo_v2(&left, &total));
        assert_int_equal(status_of(other), XS_CU_CAPTURE_STATUS_NONE);
        ends_valid();
        unmap_all(va, GRANULE);
    }
    assert_int_equal(sim.violations(), 0);
}

static void a_graph_runs_what_was_captured_each_time_it_is_launched(void **state)
{
    (void)state;
    xs_cu_graph graph;
    xs_cu_graph_exec exec;
    const xs_cu_ptr va = map_new(GRANULE);
    begin(XS_CU_CAPTURE_MODE_GLOBAL);
    ok(cu.cuMemsetD8Async(va, 3, 16, stream));
    ok(cu.cuStreamEndCapture(stream, &graph));
    assert_int_equal(*host(va), 0);
    ok(cu.cuGraphInstantiateWithFlags(&exec, graph, 0));
    ok(cu.cuGraphDestroy(graph));
    for (int i = 0; i < 2; i++) {
        *host(va) = 0;
        ok(cu.cuGraphLaunch(exec, other));
        assert_int_equal(*host(va), 3);
    }
    unmap_all(va, GRANULE);
    assert_int_equal(sim.violations(), 0);
    ok(cu.cuGraphLaunch(exec, other));
    assert_int_equal(sim.violations(), 1);
    ok(cu.cuGraphExecDestroy(exec));
    refused(XS_CUDA_ERROR_INVALID_VALUE, cu.cuGraphLaunch(exec, other));
}

/* ---- what breaks it -------------------------------------------------------------------------- */

static xs_cu_result unsafe_query(void)
{
    return cu.cuEventQuery(event);
}

static xs_cu_result unsafe_synchronize(void)
{
    return cu.cuEventSynchronize(event);
}

static xs_cu_result unsafe_alloc(void)
{
    xs_cu_ptr va;
    const xs_cu_result result = cu.cuMemAlloc_v2(&va, 1);
    return result ? result : cu.cuMemFree_v2(va);
}

static xs_cu_result unsafe_free(void)
{
    return cu.cuMemFree_v2(12345);
}

static xs_cu_result (*const unsafe[])(void) = {unsafe_query, unsafe_synchronize, unsafe_alloc};

static void unsafe_calls_break_captures_that_are_not_relaxed(void **state)
{
    (void)state;
    for (size_t i = 0; i < XS_COUNT_OF(unsafe); i++) {
        for (size_t mode = 0; mode < XS_COUNT_OF(modes); mode++) {
            begin(modes[mode]);
            if (modes[mode] == XS_CU_CAPTURE_MODE_RELAXED) {
                ok(unsafe[i]());
                ends_valid();
                continue;
            }
            refused(XS_CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, unsafe[i]());
            ends_invalid();
        }
    }
    begin(XS_CU_CAPTURE_MODE_GLOBAL);
    refused(XS_CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, unsafe_free());
    ends_invalid();
}

static void a_thread_in_relaxed_mode_may_do_as_it_likes(void **state)
{
    (void)state;
    int mode = XS_CU_CAPTURE_MODE_RELAXED;
    ok(cu.cuThreadExchangeStreamCaptureMode(&mode));
    assert_int_equal(mode, XS_CU_CAPTURE_MODE_GLOBAL);
    begin(XS_CU_CAPTURE_MODE_GLOBAL);
    for (size_t i = 0; i < XS_COUNT_OF(unsafe); i++)
        ok(unsafe[i]());
    ends_valid();
    ok(cu.cuThreadExchangeStreamCaptureMode(&mode));
    assert_int_equal(mode, XS_CU_CAPTURE_MODE_RELAXED);
    mode = 3;
    refused(XS_CUDA_ERROR_INVALID_VALUE, cu.cuThreadExchangeStreamCaptureMode(&mode));
}

static void *query_from_a_thread(void *arg)
{
    xs_cu_result *answer = arg;
    cu.cuCtxSetCurrent(primary);
    *answer = cu.cuEventQuery(event);
    return NULL;
}

static xs_cu_result answer_in_thread(void *(*body)(void *))
{
    pthread_t thread;
    xs_cu_result answer = -1;
    pthread_create(&thread, NULL, body, &answer);
    pthread_join(thread, NULL);
    return answer;
}

static void other_threads_break_only_global_captures(void **state)
{
    (void)state;
    begin(XS_CU_CAPTURE_MODE_THREAD_LOCAL);
    ok(answer_in_thread(query_from_a_thread));
    ends_valid();
    begin(XS_CU_CAPTURE_MODE_GLOBAL);
    refused(XS_CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, answer_in_thread(query_from_a_thread));
    ends_invalid();
}

static void a_context_event_breaks_captures_of_every_mode(void **state)
{
    (void)state;
    for (size_t i = 0; i < XS_COUNT_OF(modes); i++) {
        begin(modes[i]);
        refused(XS_CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cu.cuCtxRecordEvent(primary, event));
        ends_invalid();
        begin(modes[i]);
        refused(XS_CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cu.cuCtxSynchronize());
        ends_invalid();
    }
    ok(cu.cuCtxRecordEvent(primary, event));
}

static void waiting_for_a_capturing_stream_breaks_the_capture(void **state)
{
    (void)state;
    begin(XS_CU_CAPTURE_MODE_RELAXED);
    refused(XS_CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cu.cuStreamSynchronize(stream));
    fails(XS_CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, sim.launch(stream, 0, 0));
    fails(XS_CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cu.cuEventRecord(event, stream));
    ends_invalid();
}

static void the_legacy_stream_breaks_captures_of_blocking_streams(void **state)
{
    (void)state;
    xs_cu_stream blocking;
    xs_cu_graph graph;
    int status;
    begin(XS_CU_CAPTURE_MODE_RELAXED);
    ok(cu.cuEventRecord(event, NULL)); /* `stream` is non-blocking */
    ends_valid();
    ok(cu.cuStreamCreate(&blocking, 0));
    ok(cu.cuStreamBeginCapture_v2(blocking, XS_CU_CAPTURE_MODE_RELAXED));
    fails(XS_CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, cu.cuStreamIsCapturing(NULL, &status));
    assert_int_equal(status_of(blocking), XS_CU_CAPTURE_STATUS_ACTIVE);
    refused(XS_CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, cu.cuEventRecord(event, NULL));
    fails(XS_CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cu.cuStreamEndCapture(blocking, &graph));
    ok(cu.cuStreamDestroy_v2(blocking));
}

/* ---- events and other streams in a capture --------------------------------------------------- */

static void a_captured_event_cannot_be_asked(void **state)
{
    (void)state;
    xs_cu_graph graph;
    begin(XS_CU_CAPTURE_MODE_RELAXED);
    ok(cu.cuEventRecord(event, stream));
    refused(XS_CUDA_ERROR_CAPTURED_EVENT, cu.cuEventQuery(event));
    fails(XS_CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cu.cuStreamEndCapture(stream, &graph));
    begin(XS_CU_CAPTURE_MODE_RELAXED);
    ok(cu.cuEventRecord(event, stream));
    refused(XS_CUDA_ERROR_CAPTURED_EVENT, cu.cuEventSynchronize(event));
    fails(XS_CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cu.cuStreamEndCapture(stream, &graph));
    begin(XS_CU_CAPTURE_MODE_RELAXED);
    ok(cu.cuEventRecord(event, stream));
    ends_valid();
    refused(XS_CUDA_ERROR_CAPTURED_EVENT, cu.cuEventQuery(event));
    refused(XS_CUDA_ERROR_CAPTURED_EVENT, cu.cuStreamWaitEvent(other, event, 0));
    ok(cu.cuEventRecord(event, stream));
    ok(cu.cuEventQuery(event));
}

static void a_stream_joins_by_waiting_for_a_captured_event(void **state)
{
    (void)state;
    xs_cu_graph graph;
    begin(XS_CU_CAPTURE_MODE_GLOBAL);
    ok(cu.cuEventRecord(event, stream));
    ok(cu.cuStreamWaitEvent(other, event, 0));
    assert_int_equal(status_of(other), XS_CU_CAPTURE_STATUS_ACTIVE);
    ok(sim.launch(other, 0, 0));
    ok(cu.cuEventRecord(event, other));
    ok(cu.cuStreamWaitEvent(stream, event, 0));
    refused(XS_CUDA_ERROR_STREAM_CAPTURE_UNMATCHED, cu.cuStreamEndCapture(other, &graph));
    ends_valid();
    assert_int_equal(status_of(other), XS_CU_CAPTURE_STATUS_NONE);
}

static void a_capture_cannot_wait_for_work_outside_it(void **state)
{
    (void)state;
    ok(cu.cuStreamWaitEvent(stream, event, 0)); /* never recorded */
    ok(cu.cuEventRecord(event, other));
    begin(XS_CU_CAPTURE_MODE_RELAXED);
    refused(XS_CUDA_ERROR_STREAM_CAPTURE_ISOLATION, cu.cuStreamWaitEvent(stream, event, 0));
    ends_invalid();
}

/* ---- begin and end --------------------------------------------------------------------------- */

static void *end_from_a_thread(void *arg)
{
    xs_cu_result *answer = arg;
    xs_cu_graph graph;
    *answer = cu.cuStreamEndCapture(stream, &graph);
    return NULL;
}

static void begin_and_end_must_match(void **state)
{
    (void)state;
    xs_cu_graph graph;
    refused(XS_CUDA_ERROR_ILLEGAL_STATE, cu.cuStreamEndCapture(stream, &graph));
    refused(XS_CUDA_ERROR_INVALID_VALUE, cu.cuStreamBeginCapture_v2(stream, 3));
    refused(XS_CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cu.cuStreamBeginCapture_v2(NULL, 0));
    begin(XS_CU_CAPTURE_MODE_THREAD_LOCAL);
    refused(XS_CUDA_ERROR_ILLEGAL_STATE, cu.cuStreamBeginCapture_v2(stream, 0));
    refused(XS_CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD, answer_in_thread(end_from_a_thread));
    ends_valid();
}

static void destroying_a_capturing_stream_breaks_the_capture(void **state)
{
    (void)state;
    xs_cu_stream third;
    ok(cu.cuStreamCreate(&third, 0));
    ok(cu.cuStreamBeginCapture_v2(third, XS_CU_CAPTURE_MODE_RELAXED));
    ok(cu.cuEventRecord(event, third));
    ok(cu.cuStreamWaitEvent(other, event, 0));
    refused(XS_CUDA_SUCCESS, cu.cuStreamDestroy_v2(third));
    assert_int_equal(status_of(other), XS_CU_CAPTURE_STATUS_NONE);
}

#define CLEAN(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CLEAN(memory_can_grow_during_a_capture),
        CLEAN(a_graph_runs_what_was_captured_each_time_it_is_launched),
        CLEAN(unsafe_calls_break_captures_that_are_not_relaxed),
        CLEAN(a_thread_in_relaxed_mode_may_do_as_it_likes),
        CLEAN(other_threads_break_only_global_captures),
        CLEAN(a_context_event_breaks_captures_of_every_mode),
        CLEAN(waiting_for_a_capturing_stream_breaks_the_capture),
        CLEAN(the_legacy_stream_breaks_captures_of_blocking_streams),
        CLEAN(a_captured_event_cannot_be_asked),
        CLEAN(a_stream_joins_by_waiting_for_a_captured_event),
        CLEAN(a_capture_cannot_wait_for_work_outside_it),
        CLEAN(begin_and_end_must_match),
        CLEAN(destroying_a_capturing_stream_breaks_the_capture),
    };
    load_simulator();
    return cmocka_run_group_tests(tests, start_driver, NULL);
}
