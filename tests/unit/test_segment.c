/* Segments: address space, and what is mapped in it. */
#include "sim_fixture.h"

#include "base/meta.h"
#include "vmm/segment.h"

static struct xs_caps caps;
static struct xs_extents extents;
static size_t metadata;

static int make(void **state)
{
    (void)state;
    if (xs_caps_query(0, &caps))
        return 1;
    xs_extents_init(&extents, &caps, XS_CU_HANDLE_NONE, false);
    xs_driver_last_error(); /* the thread's record of errors is there from now on */
    metadata = xs_meta_bytes();
    return 0;
}

static int end(void **state)
{
    xs_extents_destroy(&extents);
    return driver_is_clean(state) || xs_meta_bytes() != metadata;
}

static struct xs_segment *reserve(size_t granules)
{
    struct xs_segment *segment = NULL;
    ok(xs_segment_reserve(&caps, granules * GRANULE, GRANULE, &segment));
    assert_int_equal(segment->bytes, granules * GRANULE);
    return segment;
}

/* ---- address space ----------------------------------------------------------------------------- */

static void sizes_are_rounded_up_to_granules(void **state)
{
    (void)state;
    struct xs_segment *segment;
    ok(xs_segment_reserve(&caps, 3 * GRANULE + 1, 1, &segment));
    assert_int_equal(segment->bytes, 4 * GRANULE);
    assert_int_equal(segment->base % GRANULE, 0);
    assert_int_equal(segment->granule, GRANULE);
    for (size_t i = 0; i < 4; i++)
        assert_null(xs_segment_extent_at(segment, segment->base + i * GRANULE));
    xs_segment_unreserve(segment);
}

static void the_least_is_reserved_where_less_is_wanted(void **state)
{
    (void)state;
    struct xs_segment *segment;
    ok(xs_segment_reserve(&caps, GRANULE, 5 * GRANULE, &segment));
    assert_int_equal(segment->bytes, 5 * GRANULE);
    xs_segment_unreserve(segment);
}

static void refuse_from(size_t bytes)
{
    struct xs_fault fault = {XS_CALL_mem_reserve, 1, ALL, bytes, XS_CUDA_ERROR_OUT_OF_MEMORY, 0};
    assert_true(xs_fault_add(&fault));
}

static void refusals_are_answered_by_halves_down_to_the_least(void **state)
{
    (void)state;
    struct xs_segment *segment;
    refuse_from(20 * GRANULE);
    ok(xs_segment_reserve(&caps, 64 * GRANULE, 3 * GRANULE, &segment));
    assert_int_equal(segment->bytes, 16 * GRANULE);
    xs_segment_unreserve(segment);
    ok(xs_segment_reserve(&caps, 100 * GRANULE, 18 * GRANULE, &segment));
    assert_int_equal(segment->bytes, 18 * GRANULE); /* not a half, but enough */
    xs_segment_unreserve(segment);
}

static void refusal_of_the_least_is_an_error_and_leaves_nothing(void **state)
{
    (void)state;
    struct xs_segment *segment = NULL;
    uint64_t digest = sim.digest();
    refuse_from(2 * GRANULE);
    assert_int_equal(xs_segment_reserve(&caps, 64 * GRANULE, 2 * GRANULE, &segment),
                     XSEG_ERROR_OUT_OF_MEMORY);
    assert_null(segment);
    assert_int_equal(sim.digest(), digest);
    assert_int_equal(xs_meta_bytes(), metadata);
    assert_int_equal(xs_driver_last_error()->call, XS_CALL_mem_reserve);
}

/* ---- mapping ----------------------------------------------------------------------------------- */

static struct xs_extent *create(size_t granules)
{
    struct xs_extent *e = xs_extent_new(&extents, granules * GRANULE);
    ok(xs_extent_create(&extents, e->bytes, &e->mem));
    return e;
}

static void release(struct xs_extent *e)
{
    ok(xs_cu_mem_release(e->mem));
    xs_extent_delete(&extents, e);
}

static void attached_extent_is_at_its_granules_and_no_others(void **state)
{
    (void)state;
    struct xs_segment *segment = reserve(6);
    struct xs_extent *e = create(2);
    xs_cu_ptr va = segment->base + 3 * GRANULE;
    xs_segment_attach(segment, e, va);
    assert_int_equal(e->va, va);
    for (size_t i = 0; i < 6; i++)
        assert_ptr_equal(xs_segment_extent_at(segment, segment->base + i * GRANULE),
                         i == 3 || i == 4 ? e : NULL);
    assert_ptr_equal(xs_segment_extent_at(segment, va + 2 * GRANULE - 1),
                     e); /* any address in it */
    xs_segment_detach(segment, e);
    assert_int_equal(e->va, 0);
    for (size_t i = 0; i < 6; i++)
        assert_null(xs_segment_extent_at(segment, segment->base + i * GRANULE));
    release(e);
    xs_segment_unreserve(segment);
}

/* One extent backs one address, then another: the bytes go with it. */
static void extent_takes_its_bytes_to_another_address(void **state)
{
    (void)state;
    struct xs_segment *segment = reserve(8);
    struct xs_extent *e = create(2);
    xs_cu_ptr from = segment->base, to = segment->base + 5 * GRANULE;
    ok(xs_segment_map(from, e));
    ok(xs_segment_open(&caps, from, e->bytes));
    memset((void *)(uintptr_t)from, 0x5a, e->bytes);
    ok(xs_segment_unmap(from, e->bytes));
    ok(xs_segment_map(to, e));
    ok(xs_segment_open(&caps, to, e->bytes));
    assert_int_equal(((unsigned char *)(uintptr_t)to)[e->bytes - 1], 0x5a);
    ok(xs_segment_unmap(to, e->bytes));
    release(e);
    xs_segment_unreserve(segment);
}

static void classic_segment_is_one_granule_of_its_own_size(void **state)
{
    (void)state;
    struct xs_segment *segment = xs_segment_new_classic(0x10000, 12345 * 512);
    assert_int_equal(segment->base, 0x10000);
    assert_int_equal(segment->bytes, 12345 * 512);
    assert_null(segment->extent_at);
    assert_true(xs_list_is_empty(&segment->blocks));
    xs_segment_delete_classic(segment);
}

int main(void)
{
#define SEGMENT_TEST(f) cmocka_unit_test_setup_teardown(f, make, end)
    const struct CMUnitTest tests[] = {
        SEGMENT_TEST(sizes_are_rounded_up_to_granules),
        SEGMENT_TEST(the_least_is_reserved_where_less_is_wanted),
        SEGMENT_TEST(refusals_are_answered_by_halves_down_to_the_least),
        SEGMENT_TEST(refusal_of_the_least_is_an_error_and_leaves_nothing),
        SEGMENT_TEST(attached_extent_is_at_its_granules_and_no_others),
        SEGMENT_TEST(extent_takes_its_bytes_to_another_address),
        SEGMENT_TEST(classic_segment_is_one_granule_of_its_own_size),
    };
    return cmocka_run_group_tests(tests, start_simulator, NULL);
}
