/* The ordered set behind best fit, by bins of sizes, against a look at every node. */
#include "unit.h"

#include "base/bins.h"
#include "naive_set.h"

#define NODES 500
#define UNIT  512u

static struct xs_bins bins;
static struct xs_tree_node nodes[NODES]; /* node i is in it where present[i] */
static bool present[NODES];
static uint64_t seed;

static int clear(void **state)
{
    (void)state;
    memset(&bins, 0, sizeof(bins));
    memset(present, 0, sizeof(present));
    seed = 88172645463325252u;
    return 0;
}

static uint64_t next_random(void)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed;
}

/* Of any magnitude up to 2^60, often just beside a power of two, where bins change. */
static uint64_t random_size(void)
{
    uint64_t size = (uint64_t)1 << (9 + next_random() % 52);
    if (next_random() % 2)
        size += next_random() % size;
    else if (next_random() % 2)
        size -= size > UNIT ? UNIT : 0;
    return size / UNIT * UNIT;
}

static struct xs_tree_node *scan(uint64_t size, uint64_t va, bool below)
{
    return naive_neighbour(nodes, present, NODES, size, va, below);
}

static void put(size_t i, uint64_t size)
{
    nodes[i] = (struct xs_tree_node){.size = size, .va = i + 1};
    present[i] = true;
    xs_bins_insert(&bins, &nodes[i]);
}

static void take(size_t i)
{
    xs_bins_remove(&bins, &nodes[i]);
    present[i] = false;
}

static void empty_set_has_nothing(void **state)
{
    (void)state;
    assert_null(xs_bins_first(&bins));
    assert_null(xs_bins_last(&bins));
    put(0, UNIT);
    take(0);
    assert_null(xs_bins_first(&bins));
    assert_null(xs_bins_last(&bins));
    assert_int_equal(bins.filled.words, 0);
}

static void every_size_is_found_and_nothing_larger_is(void **state)
{
    (void)state;
    for (unsigned shift = 9; shift <= 60; shift++) {
        uint64_t size = (uint64_t)1 << shift;
        put(0, size);
        assert_ptr_equal(xs_bins_at_least(&bins, size, 0), &nodes[0]);
        assert_ptr_equal(xs_bins_at_least(&bins, UNIT, 0), &nodes[0]);
        assert_null(xs_bins_at_least(&bins, size + UNIT, 0));
        assert_null(xs_bins_at_least(&bins, size, 2));
        assert_ptr_equal(xs_bins_below(&bins, size + UNIT, 0), &nodes[0]);
        assert_null(xs_bins_below(&bins, size, 1));
        assert_ptr_equal(xs_bins_last(&bins), &nodes[0]);
        take(0);
    }
}

static void bounds_beyond_all_sizes_are_fine(void **state)
{
    (void)state;
    put(0, (uint64_t)1 << 60);
    for (unsigned shift = 61; shift < 64; shift++)
        assert_null(xs_bins_at_least(&bins, (uint64_t)1 << shift, 0));
    assert_null(xs_bins_at_least(&bins, UINT64_MAX, 0));
    assert_ptr_equal(xs_bins_below(&bins, UINT64_MAX, UINT64_MAX), &nodes[0]);
}

static void random_operations_agree_with_a_look_at_all(void **state)
{
    (void)state;
    for (int step = 0; step < 30000; step++) {
        size_t i = next_random() % NODES;
        if (present[i])
            take(i);
        else
            put(i, random_size());
        uint64_t size = random_size(), va = next_random() % NODES;
        if (next_random() % 2)
            size = nodes[next_random() % NODES].size;
        assert_ptr_equal(xs_bins_at_least(&bins, size, va), scan(size, va, false));
        assert_ptr_equal(xs_bins_below(&bins, size, va), scan(size, va, true));
    }
}

static void walk_goes_through_all_in_order(void **state)
{
    (void)state;
    for (size_t i = 0; i < NODES; i++)
        put(i, random_size());
    size_t count = 0;
    const struct xs_tree_node *last = NULL;
    for (struct xs_tree_node *n = xs_bins_first(&bins); n; last = n, n = xs_bins_next(&bins, n)) {
        assert_true(!last || is_before(last, n->size, n->va));
        count++;
    }
    assert_int_equal(count, NODES);
    assert_int_equal(bins.count, NODES);
    assert_ptr_equal(xs_bins_last(&bins), last);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(empty_set_has_nothing, clear),
        cmocka_unit_test_setup(every_size_is_found_and_nothing_larger_is, clear),
        cmocka_unit_test_setup(bounds_beyond_all_sizes_are_fine, clear),
        cmocka_unit_test_setup(random_operations_agree_with_a_look_at_all, clear),
        cmocka_unit_test_setup(walk_goes_through_all_in_order, clear),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
