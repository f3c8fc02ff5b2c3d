/* What is kept of a driver call that failed, and how codes are translated. */
#include "sim_fixture.h"

#include <pthread.h>

static int clear(void **state)
{
    (void)state;
    xs_driver_clear_error();
    xs_error_clear();
    return 0;
}

static void failed_call_is_recorded_with_its_arguments(void **state)
{
    (void)state;
    assert_int_equal(xs_driver_last_error()->code, XS_CUDA_SUCCESS);
    fail_call(XS_CALL_mem_unmap, 1, XS_CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(xs_cu_mem_unmap(0x200000, 4096), XS_CUDA_ERROR_INVALID_VALUE);
    const struct xs_driver_error *error = xs_driver_last_error();
    assert_int_equal(error->code, XS_CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(error->call, XS_CALL_mem_unmap);
    assert_string_equal(error->arguments, "0x200000, 4096");
    assert_string_equal(xs_error_text(),
                        "cuMemUnmap(0x200000, 4096) failed: CUDA_ERROR_INVALID_VALUE");
}

static void record_stays_through_successes_until_it_is_cleared(void **state)
{
    (void)state;
    int count;
    fail_call(XS_CALL_device_count, 1, XS_CUDA_ERROR_UNKNOWN);
    assert_int_equal(xs_cu_device_count(&count), XS_CUDA_ERROR_UNKNOWN);
    ok(xs_cu_device_count(&count));
    assert_int_equal(xs_driver_last_error()->code, XS_CUDA_ERROR_UNKNOWN);
    xs_driver_clear_error();
    assert_int_equal(xs_driver_last_error()->code, XS_CUDA_SUCCESS);
}

static void not_ready_is_an_answer_and_no_failure(void **state)
{
    (void)state;
    xs_cu_stream stream = new_manual_stream();
    xs_cu_event event;
    ok(xs_cu_event_create(&event, XS_CU_EVENT_DISABLE_TIMING));
    queue_work(stream, 1);
    ok(xs_cu_event_record(event, stream));
    assert_int_equal(xs_cu_event_query(event), XS_CUDA_ERROR_NOT_READY);
    assert_int_equal(xs_driver_last_error()->code, XS_CUDA_SUCCESS);
    assert_string_equal(xs_error_text(), "");
    sim.stream_advance(stream, ALL);
    ok(xs_cu_event_destroy(event));
    ok(cu.cuStreamDestroy_v2(stream));
}

static void *look_elsewhere(void *arg)
{
    *(xs_cu_result *)arg = xs_driver_last_error()->code;
    return NULL;
}

static void record_is_the_threads_own(void **state)
{
    (void)state;
    pthread_t thread;
    xs_cu_device device;
    xs_cu_result seen = -1;
    assert_int_equal(xs_cu_device_get(&device, 99), XS_CUDA_ERROR_INVALID_DEVICE);
    pthread_create(&thread, NULL, look_elsewhere, &seen);
    pthread_join(thread, NULL);
    assert_int_equal(seen, XS_CUDA_SUCCESS);
    sim.clear_violations();
}

static void codes_are_translated(void **state)
{
    (void)state;
    static const struct {
        xs_cu_result code;
        enum xseg_result result;
    } rows[] = {
        {XS_CUDA_SUCCESS, XSEG_OK},
        {XS_CUDA_ERROR_OUT_OF_MEMORY, XSEG_ERROR_OUT_OF_MEMORY},
        {XS_CUDA_ERROR_DEINITIALIZED, XSEG_ERROR_SHUTDOWN},
        {XS_CUDA_ERROR_NO_DEVICE, XSEG_ERROR_NO_DEVICE},
        {XS_CUDA_ERROR_INVALID_DEVICE, XSEG_ERROR_NO_DEVICE},
        {XS_CUDA_ERROR_NOT_SUPPORTED, XSEG_ERROR_NOT_SUPPORTED},
        {XS_CUDA_ERROR_INVALID_VALUE, XSEG_ERROR_DRIVER},
        {XS_CUDA_ERROR_ILLEGAL_ADDRESS, XSEG_ERROR_DRIVER},
        {12345, XSEG_ERROR_DRIVER},
    };
    for (size_t i = 0; i < XS_COUNT_OF(rows); i++)
        assert_int_equal(xs_driver_result(rows[i].code), rows[i].result);
}

static void names_are_never_null(void **state)
{
    (void)state;
    assert_string_equal(xs_driver_call_name(XS_CALL_mem_map), "cuMemMap");
    assert_string_equal(xs_driver_call_name(XS_CALL_COUNT), "no call");
    assert_string_equal(xs_driver_code_name(XS_CUDA_ERROR_OUT_OF_MEMORY),
                        "CUDA_ERROR_OUT_OF_MEMORY");
    assert_string_equal(xs_driver_code_name(12345), "unknown CUDA error");
}

int main(void)
{
#define ERROR_TEST(f) cmocka_unit_test_setup_teardown(f, clear, driver_is_clean)
    const struct CMUnitTest tests[] = {
        ERROR_TEST(failed_call_is_recorded_with_its_arguments),
        ERROR_TEST(record_stays_through_successes_until_it_is_cleared),
        ERROR_TEST(not_ready_is_an_answer_and_no_failure),
        ERROR_TEST(record_is_the_threads_own),
        ERROR_TEST(codes_are_translated),
        ERROR_TEST(names_are_never_null),
    };
    return cmocka_run_group_tests(tests, start_simulator, NULL);
}
