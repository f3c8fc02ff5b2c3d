/* Faults hit the calls that they are meant for, and those alone. */
#include "sim_fixture.h"

#include "base/clock.h"

static xs_cu_result count_devices(void)
{
    int count;
    return xs_cu_device_count(&count);
}

/* How each of the next calls of cuDeviceGetCount ends: '.' well, 'x' with UNKNOWN, 'm' OUT_OF_MEMORY. */
static void expect_calls(const char *ends)
{
    for (const char *end = ends; *end; end++)
        assert_int_equal(count_devices(), *end == '.'   ? XS_CUDA_SUCCESS
                                          : *end == 'x' ? XS_CUDA_ERROR_UNKNOWN
                                                        : XS_CUDA_ERROR_OUT_OF_MEMORY);
}

static void nth_call_fails_and_only_that(void **state)
{
    (void)state;
    fail_call(XS_CALL_device_count, 3, XS_CUDA_ERROR_UNKNOWN);
    expect_calls("..x...");
    assert_int_equal(xs_fault_hits(), 1);
}

static void repeated_fault_ends(void **state)
{
    (void)state;
    struct xs_fault fault = {XS_CALL_device_count, 2, 3, 0, XS_CUDA_ERROR_UNKNOWN, 0};
    assert_true(xs_fault_add(&fault));
    expect_calls(".xxx..");
    assert_int_equal(xs_fault_hits(), 3);
}

static void failed_call_does_not_reach_the_driver(void **state)
{
    (void)state;
    uint64_t before = sim.calls("cuDeviceGetCount");
    fail_call(XS_CALL_device_count, 1, XS_CUDA_ERROR_UNKNOWN);
    expect_calls("x.");
    assert_int_equal(sim.calls("cuDeviceGetCount"), before + 1);
}

static void other_entries_are_left_alone_unless_any_is_meant(void **state)
{
    (void)state;
    xs_cu_device device;
    fail_call(XS_CALL_device_count, 1, XS_CUDA_ERROR_UNKNOWN);
    fail_call(XS_CALL_ANY, 3, XS_CUDA_ERROR_OUT_OF_MEMORY);
    ok(xs_cu_device_get(&device, 0));
    expect_calls("xm.");
}

/* Each rule counts all calls, also those that another rule has failed. */
static void rules_count_independently(void **state)
{
    (void)state;
    fail_call(XS_CALL_device_count, 1, XS_CUDA_ERROR_UNKNOWN);
    fail_call(XS_CALL_device_count, 2, XS_CUDA_ERROR_OUT_OF_MEMORY);
    fail_call(XS_CALL_device_count, 4, XS_CUDA_ERROR_UNKNOWN);
    expect_calls("xm.x.");
    assert_int_equal(xs_fault_hits(), 3);
}

static xs_cu_result create(size_t bytes)
{
    struct xs_cu_alloc_prop prop = {.type = XS_CU_ALLOCATION_PINNED,
                                    .location = {XS_CU_LOCATION_DEVICE, 0}};
    xs_cu_mem mem;
    xs_cu_result code = xs_cu_mem_create(&mem, bytes, &prop, 0);
    if (!code)
        ok(xs_cu_mem_release(mem));
    return code;
}

static void size_bound_spares_smaller_requests(void **state)
{
    (void)state;
    struct xs_fault fault = {XS_CALL_mem_create,          1, ALL, 4 * GRANULE,
                             XS_CUDA_ERROR_OUT_OF_MEMORY, 0};
    assert_true(xs_fault_add(&fault));
    ok(create(GRANULE));
    ok(create(2 * GRANULE));
    assert_int_equal(create(4 * GRANULE), XS_CUDA_ERROR_OUT_OF_MEMORY);
    assert_int_equal(create(8 * GRANULE), XS_CUDA_ERROR_OUT_OF_MEMORY);
    ok(create(GRANULE));
}

static void delay_takes_time_and_fails_nothing(void **state)
{
    (void)state;
    struct xs_fault fault = {XS_CALL_device_count, 1, 1, 0, XS_CUDA_SUCCESS, 20000000};
    assert_true(xs_fault_add(&fault));
    uint64_t start = xs_clock_ns();
    expect_calls(".");
    assert_true(xs_clock_ns() - start >= 20000000);
    assert_int_equal(xs_fault_hits(), 0);
}

static void ninth_rule_is_refused_and_clear_forgets_all(void **state)
{
    (void)state;
    struct xs_fault fault = {XS_CALL_device_count, 1, 1, 0, XS_CUDA_ERROR_UNKNOWN, 0};
    for (int i = 0; i < 8; i++)
        assert_true(xs_fault_add(&fault));
    assert_false(xs_fault_add(&fault));
    xs_fault_clear();
    expect_calls("..");
    assert_int_equal(xs_fault_hits(), 0);
}

static void calls_are_seen_while_watched(void **state)
{
    (void)state;
    expect_calls("..");
    assert_int_equal(xs_fault_seen(), 0);
    xs_fault_watch(true);
    expect_calls("...");
    assert_int_equal(xs_fault_seen(), 3);
    xs_fault_clear();
    expect_calls(".");
    assert_int_equal(xs_fault_seen(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        simulator_test(nth_call_fails_and_only_that),
        simulator_test(repeated_fault_ends),
        simulator_test(failed_call_does_not_reach_the_driver),
        simulator_test(other_entries_are_left_alone_unless_any_is_meant),
        simulator_test(rules_count_independently),
        simulator_test(size_bound_spares_smaller_requests),
        simulator_test(delay_takes_time_and_fails_nothing),
        simulator_test(ninth_rule_is_refused_and_clear_forgets_all),
        simulator_test(calls_are_seen_while_watched),
    };
    return cmocka_run_group_tests(tests, start_simulator, NULL);
}
