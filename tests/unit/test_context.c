/* Which context is current inside, and that the caller's is current again afterwards. */
#include "sim_fixture.h"

#include "driver/context.h"

static struct xs_context context; /* of device 0 */
static struct xs_context_scope scope;

static xs_cu_context current(void)
{
    xs_cu_context c;
    ok(xs_cu_ctx_get_current(&c));
    return c;
}

static size_t live_contexts(void)
{
    struct xs_sim_live live;
    sim.live(&live);
    return live.contexts;
}

static int start(void **state)
{
    setenv("XSEG_SIM_DEVICES", "2", 1);
    return start_simulator(state);
}

static int make(void **state)
{
    (void)state;
    memset(&context, 0, sizeof(context));
    return cu.cuCtxSetCurrent(NULL);
}

static int end(void **state)
{
    xs_context_release(&context);
    if (cu.cuCtxSetCurrent(NULL) || live_contexts() != 1) /* the one that the fixture retains */
        return 1;
    return driver_is_clean(state);
}

static void primary_is_pushed_where_none_is_current(void **state)
{
    (void)state;
    ok(xs_context_enter(&context, &scope));
    assert_true(scope.pushed);
    assert_ptr_equal(current(), primary);
    xs_context_leave(&scope);
    assert_null(current());
    xs_context_leave(&scope); /* a second leave pops nothing */
    assert_null(current());
}

static void callers_own_context_of_the_device_is_used(void **state)
{
    (void)state;
    xs_cu_context own;
    ok(cu.cuCtxCreate_v2(&own, 0, 0));
    ok(xs_context_enter(&context, &scope));
    assert_false(scope.pushed);
    assert_ptr_equal(current(), own);
    assert_false(atomic_load(&context.retained));
    xs_context_leave(&scope);
    assert_ptr_equal(current(), own);
    ok(cu.cuCtxDestroy_v2(own));
}

/* Events and streams of one context mean nothing in another. */
static void second_context_of_the_device_is_refused_and_never_used(void **state)
{
    (void)state;
    xs_cu_context own;
    ok(xs_context_enter(&context, &scope)); /* bound to the primary one */
    xs_context_leave(&scope);
    ok(cu.cuCtxCreate_v2(&own, 0, 0));
    assert_int_equal(xs_context_check(&context), XSEG_ERROR_NOT_SUPPORTED);
    ok(xs_context_enter(&context, &scope));
    assert_ptr_equal(current(), primary);
    xs_context_leave(&scope);
    assert_ptr_equal(current(), own);
    ok(cu.cuCtxDestroy_v2(own));
    ok(xs_context_check(&context));
}

static void other_devices_context_is_put_back(void **state)
{
    (void)state;
    xs_cu_context other;
    ok(xs_cu_primary_ctx_retain(&other, 1));
    ok(cu.cuCtxSetCurrent(other));
    ok(xs_context_enter(&context, &scope));
    assert_ptr_equal(current(), primary);
    xs_context_leave(&scope);
    assert_ptr_equal(current(), other);
    ok(cu.cuCtxSetCurrent(NULL));
    ok(xs_cu_primary_ctx_release(1));
}

static void primary_is_retained_once_and_released_once(void **state)
{
    (void)state;
    uint64_t retained = xs_driver_calls(XS_CALL_primary_ctx_retain);
    uint64_t released = xs_driver_calls(XS_CALL_primary_ctx_release);
    for (int i = 0; i < 3; i++) {
        ok(xs_context_enter(&context, &scope));
        xs_context_leave(&scope);
    }
    xs_context_release(&context);
    xs_context_release(&context);
    assert_int_equal(xs_driver_calls(XS_CALL_primary_ctx_retain), retained + 1);
    assert_int_equal(xs_driver_calls(XS_CALL_primary_ctx_release), released + 1);
}

static void failure_to_enter_leaves_things_as_they_were(void **state)
{
    (void)state;
    fail_call(XS_CALL_primary_ctx_retain, 1, XS_CUDA_ERROR_OUT_OF_MEMORY);
    assert_int_equal(xs_context_enter(&context, &scope), XSEG_ERROR_OUT_OF_MEMORY);
    xs_context_leave(&scope);
    assert_null(current());
    fail_call(XS_CALL_ctx_push, 1, XS_CUDA_ERROR_UNKNOWN);
    assert_int_equal(xs_context_enter(&context, &scope), XSEG_ERROR_DRIVER);
    xs_context_leave(&scope);
    assert_null(current());
    ok(xs_context_enter(&context, &scope));
    xs_context_leave(&scope);
}

static int thread_mode(void)
{
    int mode = XS_CU_CAPTURE_MODE_THREAD_LOCAL;
    ok(xs_cu_exchange_capture_mode(&mode));
    int was = mode;
    ok(xs_cu_exchange_capture_mode(&mode));
    return was;
}

/* Inside, calls that could invalidate another thread's capture are allowed; outside nothing has changed. */
static void capture_mode_is_relaxed_inside_alone(void **state)
{
    (void)state;
    int before = thread_mode();
    ok(xs_context_enter(&context, &scope));
    assert_int_equal(thread_mode(), XS_CU_CAPTURE_MODE_RELAXED);
    xs_context_leave(&scope);
    assert_int_equal(thread_mode(), before);
    fail_call(XS_CALL_ctx_push, 1, XS_CUDA_ERROR_UNKNOWN);
    assert_int_equal(xs_context_enter(&context, &scope), XSEG_ERROR_DRIVER);
    assert_int_equal(thread_mode(), before);
    fail_call(XS_CALL_exchange_capture_mode, 1, XS_CUDA_ERROR_UNKNOWN);
    ok(xs_context_enter(&context, &scope)); /* it can do without */
    xs_context_leave(&scope);
    assert_int_equal(thread_mode(), before);
}

static void current_device_is_that_of_the_current_context(void **state)
{
    (void)state;
    int ordinal = -1;
    assert_int_equal(xs_context_current_device(&ordinal), XSEG_ERROR_NO_DEVICE);
    assert_int_equal(ordinal, -1);
    xs_cu_context other;
    ok(xs_cu_primary_ctx_retain(&other, 1));
    ok(cu.cuCtxSetCurrent(other));
    ok(xs_context_current_device(&ordinal));
    assert_int_equal(ordinal, 1);
    ok(cu.cuCtxSetCurrent(NULL));
    ok(xs_cu_primary_ctx_release(1));
}

int main(void)
{
#define CONTEXT_TEST(f) cmocka_unit_test_setup_teardown(f, make, end)
    const struct CMUnitTest tests[] = {
        CONTEXT_TEST(primary_is_pushed_where_none_is_current),
        CONTEXT_TEST(callers_own_context_of_the_device_is_used),
        CONTEXT_TEST(second_context_of_the_device_is_refused_and_never_used),
        CONTEXT_TEST(other_devices_context_is_put_back),
        CONTEXT_TEST(primary_is_retained_once_and_released_once),
        CONTEXT_TEST(failure_to_enter_leaves_things_as_they_were),
        CONTEXT_TEST(capture_mode_is_relaxed_inside_alone),
        CONTEXT_TEST(current_device_is_that_of_the_current_context),
    };
    return cmocka_run_group_tests(tests, start, NULL);
}
