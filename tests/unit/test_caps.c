/* What is found out of a device, and what becomes of answers that the driver refuses. */
#include "sim_fixture.h"

#include "child.h"
#include "driver/caps.h"

static struct xs_caps caps;

static void device_is_described(void **state)
{
    (void)state;
    ok(xs_caps_query(0, &caps));
    assert_int_equal(caps.ordinal, 0);
    assert_true(caps.vmm && caps.posix_fd);
    assert_int_equal(caps.granule, GRANULE);
    assert_true(caps.total_bytes >= XS_GIB);
    assert_true(caps.name[0]);
}

static void query_creates_no_context(void **state)
{
    (void)state;
    struct xs_sim_live before, after;
    sim.live(&before);
    ok(xs_caps_query(0, &caps));
    sim.live(&after);
    assert_int_equal(after.contexts, before.contexts);
}

static void device_that_is_not_there_is_named(void **state)
{
    (void)state;
    assert_int_equal(xs_caps_query(7, &caps), XSEG_ERROR_NO_DEVICE);
    assert_string_equal(xs_error_text(), "there is no device 7: the driver has 1");
    assert_int_equal(xs_caps_query(-1, &caps), XSEG_ERROR_NO_DEVICE);
}

static void refused_basics_are_an_error(void **state)
{
    (void)state;
    static const enum xs_call calls[] = {XS_CALL_device_count, XS_CALL_device_get,
                                         XS_CALL_device_total_mem, XS_CALL_device_name};
    for (size_t i = 0; i < XS_COUNT_OF(calls); i++) {
        fail_call(calls[i], 1, XS_CUDA_ERROR_UNKNOWN);
        assert_int_equal(xs_caps_query(0, &caps), XSEG_ERROR_DRIVER);
        assert_int_equal(xs_driver_last_error()->call, calls[i]);
        xs_fault_clear();
    }
}

static void unknown_attribute_is_one_that_the_device_lacks(void **state)
{
    (void)state;
    fail_call(XS_CALL_device_attribute, 1, XS_CUDA_ERROR_INVALID_VALUE); /* asked for first: VMM */
    ok(xs_caps_query(0, &caps));
    assert_false(caps.vmm);
    assert_false(caps.posix_fd);
    assert_int_equal(caps.granule, GRANULE);
    xs_fault_clear();
    fail_call(XS_CALL_device_attribute, 2,
              XS_CUDA_ERROR_INVALID_VALUE); /* then: file descriptors */
    ok(xs_caps_query(0, &caps));
    assert_true(caps.vmm);
    assert_false(caps.posix_fd);
}

static void no_granularity_means_no_vmm(void **state)
{
    (void)state;
    fail_call(XS_CALL_mem_granularity, 1, XS_CUDA_ERROR_NOT_SUPPORTED);
    ok(xs_caps_query(0, &caps));
    assert_false(caps.vmm);
}

static int query_small_granule(void)
{
    setenv("XSEG_SIM_GRANULARITY", "64K", 1);
    setenv("XSEG_SIM_DEVICES", "3", 1);
    CHILD_CHECK(xs_driver_load(sim_path()) == XSEG_OK);
    CHILD_CHECK(xs_caps_query(2, &caps) == XSEG_OK);
    CHILD_CHECK(caps.granule == 64 * XS_KIB && caps.ordinal == 2 && caps.vmm);
    CHILD_CHECK(xs_caps_query(3, &caps) == XSEG_ERROR_NO_DEVICE);
    return 0;
}

static int query_without_vmm(void)
{
    setenv("XSEG_SIM_VMM", "0", 1);
    CHILD_CHECK(xs_driver_load(sim_path()) == XSEG_OK);
    CHILD_CHECK(xs_caps_query(0, &caps) == XSEG_OK);
    CHILD_CHECK(!caps.vmm && !caps.posix_fd && !caps.fabric && !caps.rdma);
    CHILD_CHECK(caps.granule == 2 * XS_MIB);
    return 0;
}

static void other_devices_are_asked_not_assumed(void **state)
{
    (void)state;
    assert_child_passes(query_small_granule);
    assert_child_passes(query_without_vmm);
}

int main(void)
{
    const struct CMUnitTest in_children[] = {cmocka_unit_test(other_devices_are_asked_not_assumed)};
    const struct CMUnitTest tests[] = {
        simulator_test(device_is_described),
        simulator_test(query_creates_no_context),
        simulator_test(device_that_is_not_there_is_named),
        simulator_test(refused_basics_are_an_error),
        simulator_test(unknown_attribute_is_one_that_the_device_lacks),
        simulator_test(no_granularity_means_no_vmm),
    };
    int failed =
        cmocka_run_group_tests(in_children, NULL, NULL); /* before a driver is loaded here */
    return failed + cmocka_run_group_tests(tests, start_simulator, NULL);
}
