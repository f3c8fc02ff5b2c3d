/* Extents: how they are created, and which idle one is chosen. */
#include "sim_fixture.h"

#include "vmm/extent.h"

#define BOTH (XS_CU_HANDLE_FABRIC | XS_CU_HANDLE_POSIX_FD)

static struct xs_caps caps;
static struct xs_extents extents;

static int make(void **state)
{
    (void)state;
    if (xs_caps_query(0, &caps))
        return 1;
    xs_extents_init(&extents, &caps, XS_CU_HANDLE_POSIX_FD, false);
    return 0;
}

static int end(void **state)
{
    xs_extents_destroy(&extents);
    return driver_is_clean(state);
}

/* ---- creation --------------------------------------------------------------------------------- */

static void create_and_release(void)
{
    xs_cu_mem mem;
    ok(xs_extent_create(&extents, 3 * GRANULE, &mem));
    struct xs_sim_live live;
    sim.live(&live);
    assert_int_equal(live.handles, 1);
    assert_int_equal(live.handle_bytes, 3 * GRANULE);
    ok(xs_cu_mem_release(mem));
}

static void extent_is_one_handle_of_its_size(void **state)
{
    (void)state;
    create_and_release();
    assert_int_equal(extents.handle_types, XS_CU_HANDLE_POSIX_FD);
}

static void refused_handle_types_are_dropped_one_by_one_and_for_good(void **state)
{
    (void)state;
    static const xs_cu_result refusals[] = {
        XS_CUDA_ERROR_NOT_PERMITTED, XS_CUDA_ERROR_NOT_SUPPORTED, XS_CUDA_ERROR_INVALID_VALUE,
        XS_CUDA_ERROR_INVALID_DEVICE};
    for (size_t i = 0; i < XS_COUNT_OF(refusals); i++) {
        atomic_store(&extents.handle_types, BOTH);
        fail_call(XS_CALL_mem_create, 1, refusals[i]);
        create_and_release();
        assert_int_equal(extents.handle_types, XS_CU_HANDLE_POSIX_FD);
        uint64_t calls = xs_driver_calls(XS_CALL_mem_create);
        create_and_release();
        assert_int_equal(xs_driver_calls(XS_CALL_mem_create), calls + 1); /* asked for no more */
        xs_fault_clear();
        fail_call(XS_CALL_mem_create, 1, refusals[i]);
        create_and_release();
        assert_int_equal(extents.handle_types, XS_CU_HANDLE_NONE);
        xs_fault_clear();
    }
}

static void out_of_memory_is_not_taken_for_a_refused_type(void **state)
{
    (void)state;
    xs_cu_mem mem;
    fail_call(XS_CALL_mem_create, 1, XS_CUDA_ERROR_OUT_OF_MEMORY);
    assert_int_equal(xs_extent_create(&extents, GRANULE, &mem), XS_CUDA_ERROR_OUT_OF_MEMORY);
    assert_int_equal(extents.handle_types, XS_CU_HANDLE_POSIX_FD);
}

static void what_is_refused_without_a_type_too_was_not_the_type(void **state)
{
    (void)state;
    xs_cu_mem mem;
    atomic_store(&extents.handle_types, BOTH);
    struct xs_fault always = {XS_CALL_mem_create, 1, ALL, 0, XS_CUDA_ERROR_INVALID_VALUE, 0};
    assert_true(xs_fault_add(&always));
    assert_int_equal(xs_extent_create(&extents, GRANULE, &mem), XS_CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(xs_fault_hits(), 3);
    assert_int_equal(extents.handle_types, BOTH);
}

/* ---- idle extents ------------------------------------------------------------------------------ */

static struct xs_extent *put_idle(size_t granules)
{
    struct xs_extent *e = xs_extent_new(&extents, granules * caps.granule);
    assert_non_null(e);
    e->va = 12345;
    xs_extent_put_idle(&extents, e);
    assert_int_equal(e->va, 0);
    return e;
}

static void nothing_idle_nothing_found(void **state)
{
    (void)state;
    assert_null(xs_extent_largest_idle(&extents, SIZE_MAX));
    assert_null(xs_extent_smallest_idle(&extents, caps.granule));
    put_idle(2);
    assert_null(xs_extent_largest_idle(&extents, 2 * caps.granule - 1));
    assert_null(xs_extent_largest_idle(&extents, 0));
    assert_null(xs_extent_smallest_idle(&extents, 3 * caps.granule));
}

static void idle_bytes_are_summed(void **state)
{
    (void)state;
    struct xs_extent *a = put_idle(3), *b = put_idle(5);
    assert_int_equal(extents.idle_bytes, 8 * caps.granule);
    xs_extent_take_idle(&extents, a);
    assert_int_equal(extents.idle_bytes, 5 * caps.granule);
    assert_ptr_equal(xs_extent_largest_idle(&extents, SIZE_MAX), b);
    xs_extent_take_idle(&extents, b);
    assert_int_equal(extents.idle_bytes, 0);
    assert_int_equal(extents.slab.live, 2);
    xs_extent_delete(&extents, a);
    xs_extent_delete(&extents, b);
    assert_int_equal(extents.slab.live, 0);
}

/* Sizes, in granules, of the best of `idle`; 0: none. */
static size_t best_of(const size_t *idle, size_t n, size_t bound, bool largest)
{
    size_t best = 0;
    for (size_t i = 0; i < n; i++) {
        if (idle[i] && largest && idle[i] <= bound && idle[i] > best)
            best = idle[i];
        if (idle[i] && !largest && idle[i] >= bound && (!best || idle[i] < best))
            best = idle[i];
    }
    return best;
}

static size_t granules_of(const struct xs_extent *e)
{
    return e ? e->bytes / caps.granule : 0;
}

static void choice_agrees_with_a_look_at_all_of_them(void **state)
{
    (void)state;
    static size_t idle[64];
    static struct xs_extent *at[64];
    uint64_t seed = 42;
    for (int step = 0; step < 5000; step++) {
        size_t i = random_below(&seed, XS_COUNT_OF(idle));
        if (idle[i]) {
            xs_extent_take_idle(&extents, at[i]);
            xs_extent_delete(&extents, at[i]);
            idle[i] = 0;
        } else {
            idle[i] = 1 + random_below(&seed, 40);
            at[i] = put_idle(idle[i]);
        }
        size_t bound = 1 + random_below(&seed, 45), bytes = bound * caps.granule;
        assert_int_equal(granules_of(xs_extent_largest_idle(&extents, bytes)),
                         best_of(idle, XS_COUNT_OF(idle), bound, true));
        assert_int_equal(granules_of(xs_extent_smallest_idle(&extents, bytes)),
                         best_of(idle, XS_COUNT_OF(idle), bound, false));
    }
}

int main(void)
{
#define EXTENT_TEST(f) cmocka_unit_test_setup_teardown(f, make, end)
    const struct CMUnitTest tests[] = {
        EXTENT_TEST(extent_is_one_handle_of_its_size),
        EXTENT_TEST(refused_handle_types_are_dropped_one_by_one_and_for_good),
        EXTENT_TEST(out_of_memory_is_not_taken_for_a_refused_type),
        EXTENT_TEST(what_is_refused_without_a_type_too_was_not_the_type),
        EXTENT_TEST(nothing_idle_nothing_found),
        EXTENT_TEST(idle_bytes_are_summed),
        EXTENT_TEST(choice_agrees_with_a_look_at_all_of_them),
    };
    return cmocka_run_group_tests(tests, start_simulator, NULL);
}
