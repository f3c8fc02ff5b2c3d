/* Mappings and slabs of records. */
#include "unit.h"

#include <sys/resource.h>

#include "base/base.h"
#include "base/meta.h"
#include "child.h"

#define RECORD 72 /* rounded up to 80 */
#define MANY   4000

static struct xs_slab slab;
static size_t before;

static int make(void **state)
{
    (void)state;
    before = xs_meta_bytes();
    xs_slab_init(&slab, RECORD);
    return 0;
}

static int end(void **state)
{
    (void)state;
    xs_slab_destroy(&slab);
    return xs_meta_bytes() != before; /* every byte was counted and came back */
}

static void mapping_is_zeroed_counted_and_given_back(void **state)
{
    (void)state;
    char *p = xs_meta_map(5000);
    assert_non_null(p);
    assert_int_equal(xs_meta_bytes() - before, 8192);
    for (size_t i = 0; i < 8192; i++)
        assert_int_equal(p[i], 0);
    memset(p, 1, 8192);
    xs_meta_unmap(p, 5000);
    assert_int_equal(xs_meta_bytes(), before);
}

static void sparse_mapping_is_counted_by_its_owner(void **state)
{
    (void)state;
    char *p = xs_meta_map_sparse(XS_GIB);
    assert_non_null(p);
    assert_int_equal(p[XS_GIB - 1], 0);
    assert_int_equal(xs_meta_bytes(), before);
    xs_meta_use(p + 6000, 5000);
    assert_int_equal(xs_meta_bytes(), before + 5000);
    assert_int_equal(p[6000] | p[10999], 0);
    xs_meta_unmap_sparse(p, XS_GIB, 5000);
    assert_int_equal(xs_meta_bytes(), before);
}

static void mapping_of_too_much_is_null_and_not_counted(void **state)
{
    (void)state;
    assert_null(xs_meta_map((size_t)1 << 60));
    assert_int_equal(xs_meta_bytes(), before);
}

static void records_are_apart_aligned_and_zeroed_even_when_used_before(void **state)
{
    (void)state;
    static char *records[MANY];
    for (int round = 0; round < 2; round++) {
        for (size_t i = 0; i < MANY; i++) {
            records[i] = xs_slab_get(&slab);
            assert_non_null(records[i]);
            assert_int_equal((uintptr_t)records[i] % 16, 0);
            for (size_t k = 0; k < RECORD; k++)
                assert_int_equal(records[i][k], 0);
            memset(records[i], (int)(i % 255) + 1, RECORD);
        }
        for (size_t i = 0; i < MANY; i++)
            for (size_t k = 0; k < RECORD; k++)
                assert_int_equal((unsigned char)records[i][k], i % 255 + 1);
        assert_int_equal(slab.live, MANY);
        for (size_t i = 0; i < MANY; i++)
            xs_slab_put(&slab, records[i]);
        assert_int_equal(slab.live, 0);
    }
}

static void given_back_records_are_used_before_new_ones(void **state)
{
    (void)state;
    void *a = xs_slab_get(&slab), *b = xs_slab_get(&slab);
    xs_slab_put(&slab, a);
    xs_slab_put(&slab, b);
    assert_ptr_equal(xs_slab_get(&slab), b);
    assert_ptr_equal(xs_slab_get(&slab), a);
}

/* A reader without a lock may still look at the beginning of a record that was given back. */
static void kept_bytes_are_never_written(void **state)
{
    (void)state;
    xs_slab_init_keeping(&slab, RECORD, 24);
    static char *records[100];
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 100; i++) {
            records[i] = xs_slab_get(&slab);
            for (int k = 0; k < RECORD; k++)
                assert_int_equal(records[i][k], k < 24 && round ? 7 : 0);
            memset(records[i], 7, RECORD);
        }
        for (int i = 0; i < 100; i++)
            xs_slab_put(&slab, records[i]);
        for (int i = 0; i < 100; i++)
            for (int k = 0; k < 24; k++)
                assert_int_equal(records[i][k], 7);
    }
    assert_true(xs_slab_reserve(&slab, 2000));
    assert_int_equal(slab.free_count, 2000);
}

/* Of a few bytes up to more than the chunks that others come in. */
static void records_of_any_size_are_apart(void **state)
{
    (void)state;
    for (size_t bytes = 16; bytes < 200 * XS_KIB; bytes = bytes * 3 / 2 + 16) {
        static char *records[9];
        xs_slab_init(&slab, bytes);
        for (int i = 0; i < 9; i++) {
            records[i] = xs_slab_get(&slab);
            assert_non_null(records[i]);
            memset(records[i], i, bytes);
        }
        for (int i = 0; i < 9; i++)
            assert_true(records[i][0] == i && records[i][bytes - 1] == i);
        xs_slab_destroy(&slab);
    }
}

static size_t mapped_after_getting(size_t count)
{
    for (size_t i = 0; i < count; i++)
        assert_non_null(xs_slab_get(&slab));
    return xs_meta_bytes();
}

static void reserved_records_need_no_more_memory(void **state)
{
    (void)state;
    assert_true(xs_slab_reserve(&slab, MANY));
    assert_int_equal(slab.live, 0);
    size_t mapped = xs_meta_bytes();
    assert_true(xs_slab_reserve(&slab, MANY)); /* they are there */
    assert_int_equal(xs_meta_bytes(), mapped);
    assert_int_equal(mapped_after_getting(MANY), mapped);
    assert_true(xs_slab_reserve(&slab, MANY)); /* those are gone */
    assert_true(xs_meta_bytes() > mapped);
    mapped = xs_meta_bytes();
    assert_int_equal(mapped_after_getting(MANY), mapped);
}

/* With no address space left, a reservation that was made holds, and one that cannot be made says so. */
static int use_up_memory(void)
{
    xs_slab_init(&slab, RECORD);
    CHILD_CHECK(xs_slab_reserve(&slab, 2000));
    struct rlimit none = {0, 0};
    setrlimit(RLIMIT_AS, &none);
    CHILD_CHECK(!xs_slab_reserve(&slab, 10000));
    for (int i = 0; i < 2000; i++)
        CHILD_CHECK(xs_slab_get(&slab));
    size_t more = 0;
    while (xs_slab_get(&slab))
        more++;
    CHILD_CHECK(more < 65536 / RECORD); /* the last chunk's rest */
    CHILD_CHECK(slab.live == 2000 + more);
    return 0;
}

static void reservation_holds_when_memory_is_used_up(void **state)
{
    (void)state;
    assert_child_passes(use_up_memory);
}

int main(void)
{
#define SLAB_TEST(f) cmocka_unit_test_setup_teardown(f, make, end)
    const struct CMUnitTest tests[] = {
        SLAB_TEST(mapping_is_zeroed_counted_and_given_back),
        SLAB_TEST(sparse_mapping_is_counted_by_its_owner),
        SLAB_TEST(kept_bytes_are_never_written),
        SLAB_TEST(mapping_of_too_much_is_null_and_not_counted),
        SLAB_TEST(records_are_apart_aligned_and_zeroed_even_when_used_before),
        SLAB_TEST(given_back_records_are_used_before_new_ones),
        SLAB_TEST(records_of_any_size_are_apart),
        SLAB_TEST(reserved_records_need_no_more_memory),
        SLAB_TEST(reservation_holds_when_memory_is_used_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
