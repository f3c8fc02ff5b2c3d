/* The simulator's time: streams, events, what queued work uses, host functions, threads. */
#include "test_sim_driver.h"

#include <pthread.h>

#define ALL SIZE_MAX

static xs_cu_stream new_stream(bool manual)
{
    xs_cu_stream stream;
    ok(cu.cuStreamCreate(&stream, XS_CU_STREAM_NON_BLOCKING));
    ok(sim.stream_manual(stream, manual));
    return stream;
}

static xs_cu_event new_event(void)
{
    xs_cu_event event;
    ok(cu.cuEventCreate(&event, XS_CU_EVENT_DISABLE_TIMING));
    return event;
}

static unsigned long long id_of(xs_cu_stream stream)
{
    unsigned long long id = 0;
    ok(cu.cuStreamGetId(stream, &id));
    return id;
}

/* Work that only takes time. */
static void busy(xs_cu_stream stream, int items)
{
    for (int i = 0; i < items; i++)
        ok(sim.launch(stream, 0, 0));
}

static void is_pending(xs_cu_event event)
{
    fails(XS_CUDA_ERROR_NOT_READY, cu.cuEventQuery(event));
}

static void is_done(xs_cu_event event)
{
    ok(cu.cuEventQuery(event));
}

/* ---- streams and events ---------------------------------------------------------------------- */

static void an_auto_stream_runs_its_work_at_once(void **state)
{
    (void)state;
    const xs_cu_stream stream = new_stream(false);
    const xs_cu_event event = new_event();
    busy(stream, 3);
    ok(cu.cuStreamQuery(stream));
    ok(cu.cuEventRecord(event, stream));
    is_done(event);
    ok(cu.cuEventDestroy_v2(event));
    ok(cu.cuStreamDestroy_v2(stream));
}

static void an_event_is_pending_until_all_earlier_items_ran(void **state)
{
    (void)state;
    const xs_cu_stream stream = new_stream(true);
    const xs_cu_event event = new_event();
    is_done(event); /* never recorded */
    busy(stream, 2);
    ok(cu.cuEventRecord(event, stream));
    busy(stream, 1);
    is_pending(event);
    assert_int_equal(sim.stream_advance(stream, 1), 1);
    is_pending(event);
    assert_int_equal(sim.stream_advance(stream, 1), 1);
    is_done(event);
    fails(XS_CUDA_ERROR_NOT_READY, cu.cuStreamQuery(stream));
    assert_int_equal(sim.stream_advance(stream, ALL), 1);
    ok(cu.cuStreamQuery(stream));
    ok(cu.cuEventDestroy_v2(event));
    ok(cu.cuStreamDestroy_v2(stream));
}

static void a_second_record_replaces_the_first(void **state)
{
    (void)state;
    const xs_cu_stream stream = new_stream(true);
    const xs_cu_event event = new_event();
    busy(stream, 1);
    ok(cu.cuEventRecord(event, stream));
    busy(stream, 1);
    ok(cu.cuEventRecord(event, stream));
    sim.stream_advance(stream, 1);
    is_pending(event);
    sim.stream_advance(stream, 1);
    is_done(event);
    ok(cu.cuEventDestroy_v2(event));
    ok(cu.cuStreamDestroy_v2(stream));
}

static void a_wait_holds_back_what_comes_after_it(void **state)
{
    (void)state;
    const xs_cu_stream first = new_stream(true), second = new_stream(false);
    const xs_cu_event event = new_event(), after = new_event();
    busy(first, 1);
    ok(cu.cuEventRecord(event, first));
    ok(cu.cuStreamWaitEvent(second, event, 0));
    ok(cu.cuEventRecord(event, second)); /* the wait keeps to the earlier record */
    busy(second, 1);
    ok(cu.cuEventRecord(after, second));
    is_pending(after);
    assert_int_equal(sim.stream_advance(second, ALL), 0);
    assert_int_equal(sim.stream_advance(first, 1), 1);
    is_done(after);
    ok(cu.cuEventDestroy_v2(event));
    ok(cu.cuEventDestroy_v2(after));
    ok(cu.cuStreamDestroy_v2(first));
    ok(cu.cuStreamDestroy_v2(second));
}

static void waiting_on_the_host_runs_just_what_it_waits_for(void **state)
{
    (void)state;
    const xs_cu_stream a = new_stream(true), b = new_stream(true), c = new_stream(true);
    const xs_cu_event from_a = new_event(), from_b = new_event();
    busy(a, 1);
    ok(cu.cuEventRecord(from_a, a));
    busy(a, 1);
    ok(cu.cuStreamWaitEvent(b, from_a, 0));
    busy(b, 1);
    ok(cu.cuEventRecord(from_b, b));
    busy(b, 1);
    busy(c, 1);
    ok(cu.cuEventSynchronize(from_b));
    is_done(from_a);
    assert_int_equal(sim.stream_advance(a, ALL), 1);
    assert_int_equal(sim.stream_advance(b, ALL), 1);
    ok(cu.cuCtxSynchronize());
    assert_int_equal(sim.stream_advance(c, ALL), 0);
    ok(cu.cuEventDestroy_v2(from_a));
    ok(cu.cuEventDestroy_v2(from_b));
    ok(cu.cuStreamDestroy_v2(a));
    ok(cu.cuStreamDestroy_v2(b));
    ok(cu.cuStreamDestroy_v2(c));
}

static void a_context_event_is_behind_all_streams(void **state)
{
    (void)state;
    const xs_cu_stream a = new_stream(true), b = new_stream(true);
    const xs_cu_event event = new_event();
    busy(a, 2);
    busy(b, 1);
    const uint64_t before = sim.cost_ns();
    ok(cu.cuCtxRecordEvent(primary, event));
    assert_int_equal(sim.cost_ns() - before, 300 + 2 * 512);
    busy(a, 1); /* later work is not waited for */
    sim.stream_advance(b, 1);
    is_pending(event);
    sim.stream_advance(a, 1);
    is_pending(event);
    sim.stream_advance(a, 1);
    is_done(event);
    ok(cu.cuCtxSynchronize());
    ok(cu.cuCtxRecordEvent(primary, event));
    is_done(event);
    ok(cu.cuEventDestroy_v2(event));
    ok(cu.cuStreamDestroy_v2(a));
    ok(cu.cuStreamDestroy_v2(b));
}

static void a_context_event_covers_streams_destroyed_while_busy(void **state)
{
    (void)state;
    const xs_cu_stream stream = new_stream(true);
    const xs_cu_event event = new_event();
    const unsigned long long id = id_of(stream);
    busy(stream, 2);
    ok(cu.cuStreamDestroy_v2(stream)); /* does not wait */
    ok(cu.cuCtxRecordEvent(primary, event));
    is_pending(event);
    assert_int_equal(sim.stream_advance_id(id, 1), 1);
    is_pending(event);
    assert_int_equal(sim.stream_advance_id(id, ALL), 1);
    is_done(event);
    assert_int_equal(sim.stream_advance_id(id, ALL), 0);
    ok(cu.cuEventDestroy_v2(event));
}

static void an_event_outlives_its_stream(void **state)
{
    (void)state;
    const xs_cu_stream stream = new_stream(true);
    const xs_cu_event event = new_event();
    busy(stream, 1);
    ok(cu.cuEventRecord(event, stream));
    ok(cu.cuStreamDestroy_v2(stream));
    is_pending(event);
    ok(cu.cuEventSynchronize(event));
    is_done(event);
    ok(cu.cuEventDestroy_v2(event));
}

static void a_handle_value_is_recycled_but_an_id_is_not(void **state)
{
    (void)state;
    const xs_cu_stream first = new_stream(false);
    const unsigned long long id = id_of(first);
    ok(cu.cuStreamDestroy_v2(first));
    const xs_cu_stream second = new_stream(false);
    assert_ptr_equal(first, second);
    assert_int_not_equal(id, id_of(second));
    ok(cu.cuStreamDestroy_v2(second));
}

static void any_call_on_a_dead_handle_is_refused(void **state)
{
    (void)state;
    const int dead = XS_CUDA_ERROR_INVALID_HANDLE;
    const xs_cu_stream stream = new_stream(false);
    const xs_cu_event event = new_event(), live = new_event();
    unsigned long long id;
    int status;
    ok(cu.cuStreamDestroy_v2(stream));
    ok(cu.cuEventDestroy_v2(event));
    refused(dead, cu.cuStreamDestroy_v2(stream));
    refused(dead, cu.cuStreamGetId(stream, &id));
    refused(dead, cu.cuStreamIsCapturing(stream, &status));
    refused(dead, cu.cuEventRecord(live, stream));
    refused(dead, cu.cuStreamWaitEvent(stream, live, 0));
    refused(dead, cu.cuStreamSynchronize((xs_cu_stream)0x1234));
    refused(dead, cu.cuEventQuery(event));
    refused(dead, cu.cuEventRecord(event, NULL));
    refused(dead, cu.cuEventDestroy_v2(event));
    refused(dead, cu.cuEventQuery(NULL));
    ok(cu.cuEventDestroy_v2(live));
}

static int child_strict(void)
{
    xs_cu_stream stream;
    unsigned long long id;
    setenv("XSEG_SIM_STRICT", "1", 1);
    CHILD_CHECK(freopen("/dev/null", "w", stderr));
    CHILD_CHECK(start_driver(NULL) == 0 && cu.cuStreamCreate(&stream, 0) == 0);
    CHILD_CHECK(cu.cuStreamDestroy_v2(stream) == 0);
    cu.cuStreamGetId(stream, &id);
    return 0;
}

static void in_strict_mode_a_dead_stream_ends_the_process(void **state)
{
    (void)state;
    assert_false(passes_in_child(child_strict));
}

static void an_event_belongs_to_its_context(void **state)
{
    (void)state;
    xs_cu_context other;
    const xs_cu_event event = new_event();
    ok(cu.cuCtxCreate_v2(&other, 0, 0));
    refused(XS_CUDA_ERROR_INVALID_HANDLE, cu.cuEventRecord(event, NULL));
    refused(XS_CUDA_ERROR_INVALID_HANDLE, cu.cuCtxRecordEvent(other, event));
    ok(cu.cuCtxDestroy_v2(other));
    refused(XS_CUDA_ERROR_INVALID_CONTEXT, cu.cuCtxRecordEvent(other, event));
    ok(cu.cuEventDestroy_v2(event));
}

/* ---- default streams ------------------------------------------------------------------------- */

static void the_legacy_stream_is_ordered_with_blocking_streams(void **state)
{
    (void)state;
    xs_cu_stream blocking;
    const xs_cu_stream free_running = new_stream(true);
    const xs_cu_event event = new_event();
    ok(cu.cuStreamCreate(&blocking, XS_CU_STREAM_DEFAULT));
    ok(sim.stream_manual(blocking, true));
    busy(free_running, 1);
    busy(blocking, 1);
    ok(cu.cuEventRecord(event, XS_CU_STREAM_LEGACY));
    is_pending(event);
    sim.stream_advance(blocking, 1);
    is_done(event);

    ok(sim.stream_manual(NULL, true));
    ok(sim.stream_manual(blocking, false));
    busy(NULL, 1);
    busy(blocking, 1);
    ok(cu.cuEventRecord(event, blocking));
    is_pending(event);
    assert_int_equal(sim.stream_advance(XS_CU_STREAM_LEGACY, 1), 1);
    is_done(event);
    ok(sim.stream_manual(NULL, false));
    ok(cu.cuCtxSynchronize());
    ok(cu.cuEventDestroy_v2(event));
    ok(cu.cuStreamDestroy_v2(blocking));
    ok(cu.cuStreamDestroy_v2(free_running));
}

static void *own_stream_of_a_thread(void *arg)
{
    unsigned long long *id = arg;
    cu.cuCtxSetCurrent(primary);
    cu.cuStreamGetId(XS_CU_STREAM_PER_THREAD, id);
    sim.stream_manual(XS_CU_STREAM_PER_THREAD, true);
    sim.launch(XS_CU_STREAM_PER_THREAD, 0, 0);
    return NULL;
}

static void each_thread_has_a_stream_that_outlives_it(void **state)
{
    (void)state;
    pthread_t thread;
    unsigned long long id = 0;
    const xs_cu_event event = new_event();
    pthread_create(&thread, NULL, own_stream_of_a_thread, &id);
    pthread_join(thread, NULL);
    assert_int_not_equal(id, 0);
    assert_int_not_equal(id, id_of(XS_CU_STREAM_PER_THREAD));
    assert_int_not_equal(id_of(NULL), id_of(XS_CU_STREAM_PER_THREAD));
    assert_int_equal(id_of(NULL), id_of(XS_CU_STREAM_LEGACY));
    ok(cu.cuCtxRecordEvent(primary, event));
    is_pending(event);
    assert_int_equal(sim.stream_advance_id(id, ALL), 1);
    is_done(event);
    ok(cu.cuEventDestroy_v2(event));
}

/* ---- what queued work uses ------------------------------------------------------------------- */

static void unmapping_under_queued_work_is_found_at_once_and_when_it_runs(void **state)
{
    (void)state;
    const xs_cu_stream stream = new_stream(true);
    const xs_cu_ptr va = map_new(2 * GRANULE);
    ok(sim.launch(stream, va + GRANULE, 16));
    refused(XS_CUDA_SUCCESS, cu.cuMemUnmap(va, 2 * GRANULE));
    assert_non_null(strstr(sim.last_violation(), "cuMemUnmap: use after unmap"));
    assert_int_equal(sim.stream_advance(stream, 1), 1);
    assert_int_equal(sim.violations(), 2);
    assert_non_null(strstr(sim.last_violation(), "use after unmap: not mapped"));
    ok(cu.cuMemAddressFree(va, 2 * GRANULE));
    ok(cu.cuStreamDestroy_v2(stream));
}

static void unmapping_after_the_work_has_run_is_fine(void **state)
{
    (void)state;
    const xs_cu_stream stream = new_stream(true);
    const xs_cu_ptr va = map_new(GRANULE), other = map_new(GRANULE);
    ok(sim.launch(stream, va, GRANULE));
    unmap_all(other, GRANULE);
    ok(cu.cuStreamSynchronize(stream));
    unmap_all(va, GRANULE);
    assert_int_equal(sim.violations(), 0);
    ok(cu.cuStreamDestroy_v2(stream));
}

static void work_needs_access_to_every_byte(void **state)
{
    (void)state;
    const xs_cu_ptr va = map_new(GRANULE);
    ok(set_access(va, GRANULE, XS_CU_ACCESS_READ));
    ok(sim.launch(NULL, va, 1));
    assert_int_equal(sim.violations(), 1);
    ok(set_access(va, GRANULE, XS_CU_ACCESS_READWRITE));
    ok(sim.launch(NULL, va, GRANULE));
    ok(cu.cuMemsetD8Async(va, 1, GRANULE, NULL));
    assert_int_equal(sim.violations(), 1);
    ok(sim.launch(NULL, va + GRANULE - 1, 2));
    ok(cu.cuMemsetD8Async(va + 1, 1, GRANULE, NULL));
    assert_int_equal(sim.violations(), 3);
    unmap_all(va, GRANULE);
}

static void free_waits_for_the_work_of_the_context(void **state)
{
    (void)state;
    const xs_cu_stream stream = new_stream(true);
    xs_cu_ptr va;
    ok(cu.cuMemAlloc_v2(&va, 4096));
    ok(cu.cuMemsetD8Async(va, 1, 4096, stream));
    ok(cu.cuMemFree_v2(va));
    assert_int_equal(sim.stream_advance(stream, ALL), 0);
    assert_int_equal(sim.violations(), 0);
    ok(sim.launch(stream, va, 1));
    sim.stream_advance(stream, ALL);
    assert_int_equal(sim.violations(), 1);
    ok(cu.cuStreamDestroy_v2(stream));
}

static void a_stream_ordered_free_comes_up_in_its_turn(void **state)
{
    (void)state;
    const xs_cu_stream stream = new_stream(true);
    struct xs_sim_live live;
    xs_cu_ptr va;
    ok(cu.cuMemAllocAsync(&va, 4096, stream));
    ok(sim.launch(stream, va, 4096));
    ok(cu.cuMemFreeAsync(va, stream));
    refused(XS_CUDA_ERROR_INVALID_VALUE, cu.cuMemFreeAsync(va, stream));
    sim.clear_violations();
    sim.live(&live);
    assert_int_equal(live.allocs, 1);
    assert_int_equal(sim.stream_advance(stream, ALL), 2);
    sim.live(&live);
    assert_int_equal(live.allocs, 0);
    assert_int_equal(sim.violations(), 0);
    ok(cu.cuStreamDestroy_v2(stream));
}

static void bytes_move_when_the_stream_gets_there(void **state)
{
    (void)state;
    const xs_cu_stream stream = new_stream(true);
    const xs_cu_ptr va = map_new(GRANULE);
    unsigned char back = 0;
    ok(cu.cuMemsetD8Async(va, 9, 1, stream));
    ok(cu.cuMemcpyDtoHAsync_v2(&back, va, 1, stream));
    assert_int_equal(*host(va), 0);
    sim.stream_advance(stream, 1);
    assert_int_equal(*host(va), 9);
    assert_int_equal(back, 0);
    ok(cu.cuStreamSynchronize(stream));
    assert_int_equal(back, 9);
    unmap_all(va, GRANULE);
    ok(cu.cuStreamDestroy_v2(stream));
}

/* ---- host functions and threads -------------------------------------------------------------- */

static xs_cu_event asked_event;
static xs_cu_result event_answer, alloc_answer;

static void ask_the_driver(void *data)
{
    xs_cu_ptr va;
    ++*(int *)data;
    event_answer = cu.cuEventQuery(asked_event);
    alloc_answer = cu.cuMemAlloc_v2(&va, 1);
}

static void a_host_function_may_query_events_and_little_else(void **state)
{
    (void)state;
    int runs = 0;
    const xs_cu_stream stream = new_stream(true);
    asked_event = new_event();
    ok(cu.cuLaunchHostFunc(stream, ask_the_driver, &runs));
    ok(cu.cuEventRecord(asked_event, stream));
    assert_int_equal(runs, 0);
    ok(cu.cuStreamSynchronize(stream));
    assert_int_equal(runs, 1);
    assert_int_equal(event_answer, XS_CUDA_ERROR_NOT_READY);
    assert_int_equal(alloc_answer, XS_CUDA_ERROR_NOT_PERMITTED);
    assert_int_equal(sim.violations(), 1);
    is_done(asked_event);
    ok(cu.cuEventDestroy_v2(asked_event));
    ok(cu.cuStreamDestroy_v2(stream));
}

static pthread_mutex_t program_lock = PTHREAD_MUTEX_INITIALIZER;

static void take_program_lock(void *data)
{
    pthread_mutex_lock(&program_lock);
    ++*(int *)data;
    pthread_mutex_unlock(&program_lock);
}

static void *run_slow_host_fn(void *arg)
{
    cu.cuCtxSetCurrent(primary);
    cu.cuLaunchHostFunc(XS_CU_STREAM_PER_THREAD, take_program_lock, arg);
    return NULL;
}

static void a_host_function_that_waits_blocks_no_other_call(void **state)
{
    (void)state;
    int runs = 0;
    pthread_t thread;
    const uint64_t before = sim.calls("cuLaunchHostFunc");
    pthread_mutex_lock(&program_lock);
    pthread_create(&thread, NULL, run_slow_host_fn, &runs);
    while (sim.calls("cuLaunchHostFunc") == before)
        usleep(100);
    unmap_all(map_new(GRANULE), GRANULE);
    pthread_mutex_unlock(&program_lock);
    ok(cu.cuCtxSynchronize()); /* waits for the other thread's host function */
    assert_int_equal(runs, 1);
    pthread_join(thread, NULL);
}

static void *churn(void *arg)
{
    size_t *bad = arg;
    const struct xs_cu_alloc_prop prop = device_memory(0);
    xs_cu_stream stream;
    xs_cu_event event;
    cu.cuCtxSetCurrent(primary);
    cu.cuStreamCreate(&stream, 0);
    cu.cuEventCreate(&event, 0);
    for (int i = 0; i < 300; i++) {
        xs_cu_ptr va, block;
        xs_cu_mem mem;
        *bad += cu.cuMemAddressReserve(&va, GRANULE, 0, 0, 0) != 0;
        *bad += cu.cuMemCreate(&mem, GRANULE, &prop, 0) != 0;
        *bad += cu.cuMemMap(va, GRANULE, 0, mem, 0) != 0;
        *bad += set_access(va, GRANULE, XS_CU_ACCESS_READWRITE) != 0;
        *bad += cu.cuMemsetD8Async(va, (unsigned char)i, 64, stream) != 0;
        *bad += cu.cuEventRecord(event, stream) != 0;
        *bad += cu.cuCtxRecordEvent(primary, event) != 0;
        *bad += cu.cuMemAlloc_v2(&block, 1000) != 0;
        *bad += cu.cuEventSynchronize(event) != 0;
        *bad += *host(va) != (unsigned char)i;
        *bad += cu.cuMemFree_v2(block) != 0;
        *bad += cu.cuMemUnmap(va, GRANULE) != 0;
        *bad += cu.cuMemRelease(mem) != 0;
        *bad += cu.cuMemAddressFree(va, GRANULE) != 0;
    }
    cu.cuEventDestroy_v2(event);
    cu.cuStreamDestroy_v2(stream);
    return NULL;
}

static void threads_may_call_at_the_same_time(void **state)
{
    (void)state;
    pthread_t threads[4];
    size_t bad[4] = {0};
    for (size_t i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, churn, &bad[i]);
    for (size_t i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(bad[i], 0);
    assert_int_equal(sim.violations(), 0);
}

static void a_destroyed_context_takes_what_lives_in_it_along(void **state)
{
    (void)state;
    xs_cu_context ctx;
    xs_cu_ptr va;
    ok(cu.cuCtxCreate_v2(&ctx, 0, 0));
    const xs_cu_stream stream = new_stream(true);
    const xs_cu_event event = new_event();
    ok(cu.cuMemAlloc_v2(&va, GRANULE));
    ok(sim.launch(stream, va, GRANULE));
    ok(cu.cuCtxDestroy_v2(ctx));
    assert_int_equal(sim.violations(), 0);
    refused(XS_CUDA_ERROR_INVALID_HANDLE, cu.cuStreamSynchronize(stream));
    refused(XS_CUDA_ERROR_INVALID_HANDLE, cu.cuEventQuery(event));
}

#define CLEAN(test) cmocka_unit_test_teardown(test, check_clean)

int main(void)
{
    const struct CMUnitTest before_init[] = {
        cmocka_unit_test(in_strict_mode_a_dead_stream_ends_the_process),
    };
    const struct CMUnitTest tests[] = {
        CLEAN(an_auto_stream_runs_its_work_at_once),
        CLEAN(an_event_is_pending_until_all_earlier_items_ran),
        CLEAN(a_second_record_replaces_the_first),
        CLEAN(a_wait_holds_back_what_comes_after_it),
        CLEAN(waiting_on_the_host_runs_just_what_it_waits_for),
        CLEAN(a_context_event_is_behind_all_streams),
        CLEAN(a_context_event_covers_streams_destroyed_while_busy),
        CLEAN(an_event_outlives_its_stream),
        CLEAN(a_handle_value_is_recycled_but_an_id_is_not),
        CLEAN(any_call_on_a_dead_handle_is_refused),
        CLEAN(an_event_belongs_to_its_context),
        CLEAN(the_legacy_stream_is_ordered_with_blocking_streams),
        CLEAN(each_thread_has_a_stream_that_outlives_it),
        CLEAN(unmapping_under_queued_work_is_found_at_once_and_when_it_runs),
        CLEAN(unmapping_after_the_work_has_run_is_fine),
        CLEAN(work_needs_access_to_every_byte),
        CLEAN(free_waits_for_the_work_of_the_context),
        CLEAN(a_stream_ordered_free_comes_up_in_its_turn),
        CLEAN(bytes_move_when_the_stream_gets_there),
        CLEAN(a_host_function_may_query_events_and_little_else),
        CLEAN(a_host_function_that_waits_blocks_no_other_call),
        CLEAN(threads_may_call_at_the_same_time),
        CLEAN(a_destroyed_context_takes_what_lives_in_it_along),
    };
    load_simulator();
    const int failed = cmocka_run_group_tests(before_init, NULL, NULL);
    return failed + cmocka_run_group_tests(tests, start_driver, NULL);
}
