/* The ordered set behind best fit, against a sorted array. */
#include "unit.h"

#include "base/tree.h"
#include "naive_set.h"

#define NODES 600

static struct xs_tree_node *root;
static struct xs_tree_node nodes[NODES]; /* node i is in the tree where present[i] */
static bool present[NODES];

static int clear(void **state)
{
    (void)state;
    root = NULL;
    memset(nodes, 0, sizeof(nodes));
    memset(present, 0, sizeof(present));
    return 0;
}

static struct xs_tree_node *scan(uint64_t size, uint64_t va, bool below)
{
    return naive_neighbour(nodes, present, NODES, size, va, below);
}

static void expect_in_order(void)
{
    size_t count = 0, expected = 0;
    const struct xs_tree_node *last = NULL;
    for (struct xs_tree_node *n = xs_tree_at_least(root, 0, 0); n;
         last = n, n = xs_tree_at_least(root, n->size, n->va + 1)) {
        assert_true(present[n - nodes]);
        assert_true(!last || is_before(last, n->size, n->va));
        count++;
    }
    for (size_t i = 0; i < NODES; i++)
        expected += present[i];
    assert_int_equal(count, expected);
    assert_ptr_equal(xs_tree_below(root, UINT64_MAX, 0), last);
}

static void empty_tree_has_nothing(void **state)
{
    (void)state;
    assert_null(xs_tree_at_least(root, 0, 0));
    assert_null(xs_tree_below(root, UINT64_MAX, UINT64_MAX));
}

static void keys_are_compared_by_size_then_address(void **state)
{
    (void)state;
    static const uint64_t keys[][2] = {{512, 9}, {512, 4}, {1024, 1}, {256, 7}};
    for (size_t i = 0; i < XS_COUNT_OF(keys); i++) {
        nodes[i].size = keys[i][0];
        nodes[i].va = keys[i][1];
        present[i] = true;
        xs_tree_insert(&root, &nodes[i]);
    }
    expect_in_order();
    assert_ptr_equal(xs_tree_at_least(root, 512, 0), &nodes[1]);
    assert_ptr_equal(xs_tree_at_least(root, 512, 4), &nodes[1]);
    assert_ptr_equal(xs_tree_at_least(root, 512, 5), &nodes[0]);
    assert_ptr_equal(xs_tree_at_least(root, 512, 10), &nodes[2]);
    assert_null(xs_tree_at_least(root, 1024, 2));
    assert_ptr_equal(xs_tree_below(root, 512, 4), &nodes[3]);
    assert_null(xs_tree_below(root, 256, 7));
}

static void random_operations_agree_with_an_array(void **state)
{
    (void)state;
    uint64_t seed = 88172645463325252u;
    for (int step = 0; step < 20000; step++) {
        seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
        size_t i = seed % NODES;
        if (present[i]) {
            xs_tree_remove(&root, &nodes[i]);
        } else {
            nodes[i].size = (seed >> 32) % 16; /* many of one size */
            nodes[i].va = i;
            xs_tree_insert(&root, &nodes[i]);
        }
        present[i] = !present[i];
        uint64_t size = (seed >> 20) % 18, va = (seed >> 40) % NODES;
        assert_ptr_equal(xs_tree_at_least(root, size, va), scan(size, va, false));
        assert_ptr_equal(xs_tree_below(root, size, va), scan(size, va, true));
        if (step % 200 == 0)
            expect_in_order();
    }
}

static size_t depth(const struct xs_tree_node *n)
{
    return n ? 1 + xs_max(depth(n->left), depth(n->right)) : 0;
}

static void rising_keys_do_not_make_a_list(void **state)
{
    (void)state;
    for (size_t i = 0; i < NODES; i++) {
        nodes[i].size = i;
        xs_tree_insert(&root, &nodes[i]);
        present[i] = true;
    }
    expect_in_order();
    assert_true(depth(root) < 60);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(empty_tree_has_nothing, clear),
        cmocka_unit_test_setup(keys_are_compared_by_size_then_address, clear),
        cmocka_unit_test_setup(random_operations_agree_with_an_array, clear),
        cmocka_unit_test_setup(rising_keys_do_not_make_a_list, clear),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
