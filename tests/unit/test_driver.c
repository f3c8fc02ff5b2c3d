/* Loading a driver. Each test is a process of its own, since a process loads one driver. */
#include "sim_fixture.h"

#include "child.h"

static const char *fake(const char *name)
{
    static char path[512];
    const char *folder = getenv("XSEG_TEST_FAKES");
    snprintf(path, sizeof(path), "%s/%s.so", folder ? folder : ".", name);
    return path;
}

/* The load is refused with this result and a text that has all of `words`; nothing stays loaded. */
static int is_refused(const char *path, enum xseg_result result, const char *words)
{
    CHILD_CHECK(xs_driver_load(path) == result);
    CHILD_CHECK(strstr(xs_error_text(), words));
    CHILD_CHECK(!xs_driver_is_loaded());
    CHILD_CHECK(!xs_driver_has_vmm());
    CHILD_CHECK(!xs_driver_has(XS_CALL_init));
    CHILD_CHECK(strcmp(xs_driver_library(), "") == 0);
    return 0;
}

static int load_missing_file(void)
{
    return is_refused("/nonexistent/libcuda.so.1", XSEG_ERROR_NO_DRIVER,
                      "/nonexistent/libcuda.so.1");
}

static int load_other_file(void)
{
    return is_refused("/etc/passwd", XSEG_ERROR_NO_DRIVER, "/etc/passwd");
}

static int load_without_core(void)
{
    return is_refused(fake("without_core"), XSEG_ERROR_NO_DRIVER,
                      "without_core.so has no entry cuMemFree_v2");
}

static int load_without_device(void)
{
    return is_refused(fake("no_device"), XSEG_ERROR_NO_DEVICE, "cuInit(0) returned 100");
}

static int load_that_fails(void)
{
    return is_refused(fake("init_fails"), XSEG_ERROR_NO_DRIVER, "cuInit(0) returned 999");
}

static void unusable_drivers_are_refused_by_name(void **state)
{
    (void)state;
    assert_child_passes(load_missing_file);
    assert_child_passes(load_other_file);
    assert_child_passes(load_without_core);
    assert_child_passes(load_without_device);
    assert_child_passes(load_that_fails);
}

static int load_after_refusals(void)
{
    CHILD_CHECK(load_without_core() == 0);
    CHILD_CHECK(load_that_fails() == 0);
    CHILD_CHECK(xs_driver_load(fake("whole")) == XSEG_OK);
    CHILD_CHECK(xs_driver_is_loaded());
    CHILD_CHECK(xs_driver_has_vmm());
    for (int call = 0; call < XS_CALL_COUNT; call++)
        CHILD_CHECK(xs_driver_has((enum xs_call)call));
    CHILD_CHECK(!xs_driver_is_simulator());
    CHILD_CHECK(strcmp(xs_driver_library(), fake("whole")) == 0);
    return 0;
}

static void good_driver_is_loaded_after_refused_ones(void **state)
{
    (void)state;
    assert_child_passes(load_after_refusals);
}

static int load_without_vmm(void)
{
    CHILD_CHECK(xs_driver_load(fake("without_vmm")) == XSEG_OK);
    CHILD_CHECK(!xs_driver_has_vmm());
    CHILD_CHECK(!xs_driver_has(XS_CALL_mem_unmap));
    CHILD_CHECK(xs_driver_has(XS_CALL_mem_map));
    CHILD_CHECK(xs_cu_mem_unmap(0, 1) == XS_CUDA_ERROR_NOT_SUPPORTED); /* refused, not jumped to */
    CHILD_CHECK(xs_driver_last_error()->call == XS_CALL_mem_unmap);
    return 0;
}

static int load_without_extra(void)
{
    CHILD_CHECK(xs_driver_load(fake("without_extra")) == XSEG_OK);
    CHILD_CHECK(xs_driver_has_vmm());
    CHILD_CHECK(!xs_driver_has(XS_CALL_stream_get_id));
    CHILD_CHECK(!xs_driver_has(XS_CALL_ctx_record_event));
    CHILD_CHECK(!xs_driver_has(XS_CALL_memset_d8_async));
    CHILD_CHECK(!xs_driver_has(XS_CALL_exchange_capture_mode));
    CHILD_CHECK(xs_driver_stream_has_id((xs_cu_stream)0x1000, 5)); /* nobody can know better */
    return 0;
}

static void missing_vmm_and_extra_entries_are_known(void **state)
{
    (void)state;
    assert_child_passes(load_without_vmm);
    assert_child_passes(load_without_extra);
}

static int load_twice(void)
{
    CHILD_CHECK(xs_driver_load(sim_path()) == XSEG_OK);
    CHILD_CHECK(xs_driver_load(sim_path()) == XSEG_OK);
    CHILD_CHECK(xs_driver_load(NULL) == XSEG_OK); /* whatever is there */
    CHILD_CHECK(xs_driver_load(fake("whole")) == XSEG_ERROR_INVALID_VALUE);
    CHILD_CHECK(strstr(xs_error_text(), sim_path()) && strstr(xs_error_text(), "whole.so"));
    CHILD_CHECK(xs_driver_is_simulator());
    CHILD_CHECK(strcmp(xs_driver_library(), sim_path()) == 0);
    return 0;
}

static void another_driver_is_refused_once_one_is_loaded(void **state)
{
    (void)state;
    assert_child_passes(load_twice);
}

static int call_before_load(void)
{
    int count;
    CHILD_CHECK(xs_cu_device_count(&count) == XS_CUDA_ERROR_NOT_SUPPORTED);
    return 0;
}

static void call_before_a_load_is_refused(void **state)
{
    (void)state;
    assert_child_passes(call_before_load);
}

static int count_calls(void)
{
    CHILD_CHECK(xs_driver_load(sim_path()) == XSEG_OK);
    xs_cu_device device;
    CHILD_CHECK(xs_driver_calls(XS_CALL_device_get) == 0);
    CHILD_CHECK(xs_cu_device_get(&device, 0) == XS_CUDA_SUCCESS);
    CHILD_CHECK(xs_cu_device_get(&device, 99) != XS_CUDA_SUCCESS);
    CHILD_CHECK(xs_driver_calls(XS_CALL_device_get) == 2); /* failed ones too */
    uint64_t cost = xs_driver_cost_ns();
    CHILD_CHECK(xs_cu_primary_ctx_retain(&primary, 0) == XS_CUDA_SUCCESS);
    CHILD_CHECK(xs_cu_ctx_push(primary) == XS_CUDA_SUCCESS);
    xs_cu_ptr va;
    CHILD_CHECK(xs_cu_mem_alloc(&va, GRANULE) == XS_CUDA_SUCCESS);
    CHILD_CHECK(xs_driver_cost_ns() >=
                cost + 10000); /* the table's time, not the simulator's own */
    CHILD_CHECK(xs_cu_mem_free(va) == XS_CUDA_SUCCESS);
    CHILD_CHECK(xs_driver_wall_ns() > 0);
    return 0;
}

static void calls_and_time_are_counted(void **state)
{
    (void)state;
    assert_child_passes(count_calls);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unusable_drivers_are_refused_by_name),
        cmocka_unit_test(good_driver_is_loaded_after_refused_ones),
        cmocka_unit_test(missing_vmm_and_extra_entries_are_known),
        cmocka_unit_test(another_driver_is_refused_once_one_is_loaded),
        cmocka_unit_test(call_before_a_load_is_refused),
        cmocka_unit_test(calls_and_time_are_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
