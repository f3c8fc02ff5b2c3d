/* The checker of the heap finds each invariant of docs/invariants.md that is broken, and names it. */
#include "heap_fixture.h"

/* Segment 0: "F8@1 L8@1 H8 F3@2 L5@1 H32"; segment 1: one hole. */
static void build(void)
{
    struct xs_block *hole = add_segment(0, 64, 8);
    struct xs_block *left = map_hole(hole, 0, 16);
    struct xs_block *right = map_hole(block_at(0, 16), 8, 8);
    struct xs_block *freed = take(left, 0, 8, 1);
    take(block_at(0, 8), 0, 8, 1);
    give(freed);
    freed = take(right, 0, 3, 2);
    take(block_at(0, 27), 0, 5, 1);
    give(freed);
    add_segment(1, 32, 8);
}

static int make(void **state)
{
    if (make_heap(state))
        return 1;
    build();
    expect_layout(0, "F8@1 L8@1 H8 F3@2 L5@1 H32");
    return 0;
}

/* Broken in the way that begins with this text, "H3: ..."; the statement mends it again. */
#define expect_broken(rule, mend)                                                                  \
    do {                                                                                           \
        assert_false(xs_heap_check(&heap, &finding));                                              \
        if (strncmp(finding.text, rule ":", sizeof(rule)) != 0)                                    \
            fail_msg("expected %s, got %s", rule, finding.text);                                   \
        mend;                                                                                      \
        assert_sound();                                                                            \
    } while (0)

static void h1_blocks_tile_their_segment(void **state)
{
    (void)state;
    struct xs_block *live = block_at(0, 8), *last = block_at(0, 32);
    live->node.size -= UNIT;
    expect_broken("H1", live->node.size += UNIT);
    live->node.va += UNIT;
    expect_broken("H1", live->node.va -= UNIT);
    last->node.size += 8 * UNIT;
    expect_broken("H1", last->node.size -= 8 * UNIT);
    last->node.size -= 8 * UNIT; /* the segment's end is in no block */
    expect_broken("H1", last->node.size += 8 * UNIT);
    struct xs_list *link = live->by_addr.prev;
    live->by_addr.prev = &last->by_addr;
    expect_broken("H1", live->by_addr.prev = link);
}

static void h2_blocks_name_their_heap_and_segment(void **state)
{
    (void)state;
    struct xs_block *live = block_at(0, 8);
    live->segment = &segments[1];
    expect_broken("H2", live->segment = &segments[0]);
    live->heap = NULL;
    expect_broken("H2", live->heap = &heap);
    xs_block_set_state(live, 77);
    expect_broken("H2", xs_block_set_state(live, XS_BLOCK_LIVE));
}

static void h3_free_neighbours_that_could_be_joined_are(void **state)
{
    (void)state;
    struct xs_block *live = block_at(0, 8);
    xs_block_set_state(live, XS_BLOCK_FREE); /* beside its own stream's */
    expect_broken("H3", xs_block_set_state(live, XS_BLOCK_LIVE));
}

static void h4_no_hole_lies_beside_a_hole(void **state)
{
    (void)state;
    struct xs_block *live = block_at(0, 27);
    xs_block_set_state(live, XS_BLOCK_HOLE);
    live->stream = NULL;
    expect_broken("H4", (live->stream = ON(1), xs_block_set_state(live, XS_BLOCK_LIVE)));
}

static void h5_holes_are_whole_granules_and_listed_once(void **state)
{
    (void)state;
    struct xs_block *hole = block_at(0, 16), *live = block_at(0, 8);
    xs_list_remove(&hole->link);
    expect_broken("H5", xs_list_push_back(&heap.holes, &hole->link));
    xs_list_push_back(&heap.holes, &live->link);
    expect_broken("H5", xs_list_remove(&live->link));
    struct xs_list elsewhere;
    xs_list_init(&elsewhere);
    xs_list_remove(&hole->link); /* linked, but in another list */
    xs_list_push_back(&elsewhere, &hole->link);
    expect_broken("H5", (xs_list_remove(&hole->link), xs_list_push_back(&heap.holes, &hole->link)));
    struct xs_block *freed = block_at(0, 24);
    xs_bins_remove(&heap.free[2], &freed->node);
    hole->node.size += UNIT, freed->node.va += UNIT, freed->node.size -= UNIT;
    xs_bins_insert(&heap.free[2], &freed->node);
    heap.free_bytes -= UNIT;
    assert_false(xs_heap_check(&heap, &finding));
    assert_non_null(strstr(finding.text, "H5: HOLE block at 0x10000002000, 4608 bytes"));
}

static void h5_a_classic_segment_has_no_hole(void **state)
{
    (void)state;
    struct xs_extent **extent_at = segments[1].extent_at;
    segments[1].extent_at = NULL;
    expect_broken("H5", segments[1].extent_at = extent_at);
}

static void h6_free_blocks_are_in_their_streams_tree_alone(void **state)
{
    (void)state;
    struct xs_block *freed = block_at(0, 0);
    xs_bins_remove(&heap.free[1], &freed->node);
    expect_broken("H6", xs_bins_insert(&heap.free[1], &freed->node));
    xs_bins_remove(&heap.free[1], &freed->node);
    xs_bins_insert(&heap.free[2], &freed->node);
    expect_broken("H6", (xs_bins_remove(&heap.free[2], &freed->node),
                         xs_bins_insert(&heap.free[1], &freed->node)));
    struct xs_block *live = block_at(0, 8);
    xs_bins_insert(&heap.free[1], &live->node); /* one that is not free */
    expect_broken("H6", xs_bins_remove(&heap.free[1], &live->node));
    heap.free[2].count++;
    expect_broken("H6", heap.free[2].count--);
    heap.trees = 2; /* the tree of stream 2 would not be looked at */
    expect_broken("H6", heap.trees = 3);
    xs_bit_set_remove(&heap.filled, 1); /* nor that of stream 1 where filled ones are wanted */
    expect_broken("H6", xs_bit_set_add(&heap.filled, 1));
}

static void h7_free_bytes_are_the_sum(void **state)
{
    (void)state;
    heap.free_bytes += UNIT;
    expect_broken("H7", heap.free_bytes -= UNIT);
}

static void h8_streams_and_stamps_fit_the_state(void **state)
{
    (void)state;
    struct xs_block *live = block_at(0, 8), *hole = block_at(0, 16);
    live->stream = NULL;
    expect_broken("H8", live->stream = ON(1));
    hole->stream = ON(1);
    expect_broken("H8", hole->stream = NULL);
    hole->stamp = 3;
    expect_broken("H8", hole->stamp = 0);
}

static void h9_extents_back_their_granules_and_no_others(void **state)
{
    (void)state;
    struct xs_extent *e = xs_segment_extent_at(&segments[0], at(0, 0));
    assert_int_equal(e->bytes, 16 * UNIT);
    e->va += 8 * UNIT;
    expect_broken("H9", e->va -= 8 * UNIT);
    e->bytes -= 8 * UNIT;
    expect_broken("H9", e->bytes += 8 * UNIT);
    e->bytes += 8 * UNIT;
    expect_broken("H9", e->bytes -= 8 * UNIT);
    e->bytes -= UNIT;
    expect_broken("H9", e->bytes += UNIT);
    e->va = 0;
    expect_broken("H9", e->va = at(0, 0));
}

static void h10_mapped_blocks_are_backed_throughout(void **state)
{
    (void)state;
    struct xs_extent *e = segments[0].extent_at[3];
    segments[0].extent_at[3] = NULL;
    expect_broken("H10", segments[0].extent_at[3] = e);
}

static void h11_nothing_backs_a_hole(void **state)
{
    (void)state;
    segments[0].extent_at[7] = segments[0].extent_at[3];
    expect_broken("H11", segments[0].extent_at[7] = NULL);
    segments[1].extent_at[0] = segments[0].extent_at[3];
    expect_broken("H11", segments[1].extent_at[0] = NULL);
}

static void busy_blocks_are_backed_throughout_or_not_at_all(void **state)
{
    (void)state;
    struct xs_block *hole = block_at(0, 32);
    assert_true(xs_heap_reserve(&heap, 2));
    struct xs_block *busy = xs_heap_carve(&heap, hole, at(0, 40), 16 * UNIT);
    assert_sound();
    segments[0].extent_at[6] = segments[0].extent_at[3];
    expect_broken("H11", segments[0].extent_at[6] = NULL);
    xs_heap_put_hole(&heap, busy);
    assert_sound();
}

static void h12_blocks_that_are_not_cut_are_whole_extents(void **state)
{
    (void)state;
    heap.whole = true; /* the extents were cut before */
    expect_broken("H12", heap.whole = false);
}

int main(void)
{
#define CHECK_TEST(f) cmocka_unit_test_setup_teardown(f, make, end_heap)
    const struct CMUnitTest tests[] = {
        CHECK_TEST(h1_blocks_tile_their_segment),
        CHECK_TEST(h2_blocks_name_their_heap_and_segment),
        CHECK_TEST(h3_free_neighbours_that_could_be_joined_are),
        CHECK_TEST(h4_no_hole_lies_beside_a_hole),
        CHECK_TEST(h5_holes_are_whole_granules_and_listed_once),
        CHECK_TEST(h5_a_classic_segment_has_no_hole),
        CHECK_TEST(h6_free_blocks_are_in_their_streams_tree_alone),
        CHECK_TEST(h7_free_bytes_are_the_sum),
        CHECK_TEST(h8_streams_and_stamps_fit_the_state),
        CHECK_TEST(h9_extents_back_their_granules_and_no_others),
        CHECK_TEST(h10_mapped_blocks_are_backed_throughout),
        CHECK_TEST(h11_nothing_backs_a_hole),
        CHECK_TEST(h12_blocks_that_are_not_cut_are_whole_extents),
        CHECK_TEST(busy_blocks_are_backed_throughout_or_not_at_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
