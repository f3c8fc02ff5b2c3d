/* Where a heap grows: by hand, and against a look at every window there is. */
#include "heap_fixture.h"

#include "heap/place.h"

static struct xs_place place;

static bool find(size_t units, size_t align_units, uint32_t stream)
{
    return xs_place_find(&heap, &fences, units * UNIT, align_units * UNIT, ON(stream), &place);
}

/* The window found: where it begins and what it costs, in units. */
static void expect_place(size_t segment, size_t begin, size_t new_units)
{
    assert_int_equal(place.va, at(segment, begin));
    assert_int_equal(place.new_bytes, new_units * UNIT);
    assert_true(xs_block_va(place.first) <= place.va && place.va < xs_block_end(place.first));
}

/* ---- by hand ----------------------------------------------------------------------------------- */

/* The picture in place.h: LIVE 2 | FREE 5 | hole 8 | FREE 3 | LIVE 2, granules of one unit. */
static void make_picture(void)
{
    struct xs_block *hole = add_segment(0, 20, 1);
    take(map_hole(hole, 0, 7), 0, 2, 1);
    struct xs_block *right = map_hole(block_at(0, 7), 8, 5);
    take(right, 3, 2, 1);
    expect_layout(0, "L2@1 F5 H8 F3 L2@1");
}

static void fewest_new_bytes_win(void **state)
{
    (void)state;
    make_picture();
    assert_true(find(10, 1, 1));
    expect_place(0, 2, 5);
    assert_true(find(16, 1, 1)); /* all of it */
    expect_place(0, 2, 8);
    assert_false(find(17, 1, 1));
}

static void holes_cost_whole_granules(void **state)
{
    (void)state;
    struct xs_block *hole = add_segment(0, 32, 8);
    take(map_hole(hole, 0, 8), 0, 5, 1); /* LIVE 5 | FREE 3 | hole 24 */
    assert_true(find(4, 1, 1));
    expect_place(0, 5, 8); /* one unit of the hole, a granule */
    assert_true(find(11, 1, 1));
    expect_place(0, 5, 8);
    assert_true(find(12, 1, 1));
    expect_place(0, 5, 16);
}

static void other_streams_memory_serves_only_once_it_passed(void **state)
{
    (void)state;
    struct xs_block *hole = add_segment(0, 24, 8);
    give(take(map_hole(hole, 0, 8), 0, 8, 1)); /* FREE 8 of stream 1 | hole 16 */
    assert_true(find(12, 1, 2));
    expect_place(0, 8, 16);
    assert_true(find(12, 1, 1)); /* its own it may use at once */
    expect_place(0, 0, 8);
    pass(1);
    assert_true(find(12, 1, 2));
    expect_place(0, 0, 8);
}

static void equal_cost_goes_to_the_lowest_address(void **state)
{
    (void)state;
    add_segment(1, 16, 1);
    add_segment(0, 16, 1);
    assert_true(find(8, 1, 1));
    expect_place(0, 0, 8);
}

static void live_and_busy_blocks_end_a_run(void **state)
{
    (void)state;
    struct xs_block *hole = add_segment(0, 24, 8);
    assert_true(xs_heap_reserve(&heap, 2));
    struct xs_block *busy = xs_heap_carve(&heap, hole, at(0, 8), 8 * UNIT);
    expect_layout(0, "H8 B8 H8");
    assert_false(find(9, 1, 1));
    assert_true(find(8, 1, 1));
    xs_heap_put_hole(&heap, busy);
    assert_true(find(24, 1, 1));
}

static void aligned_window_begins_at_a_multiple(void **state)
{
    (void)state;
    struct xs_block *hole = add_segment(0, 32, 8);
    take(map_hole(hole, 0, 16), 0, 9, 1); /* LIVE 9 | FREE 7 | hole 16 */
    assert_true(find(8, 4, 1));
    expect_place(0, 12, 8);
    assert_true(find(8, 8, 1));
    expect_place(0, 16, 8);
}

/* hole 16 | FREE 5 | LIVE: the window of 12 that ends highest and begins aligned covers 4 of the free
 * block, and one granule of the hole. */
static void aligned_window_may_end_short_of_a_free_block(void **state)
{
    (void)state;
    struct xs_block *hole = add_segment(0, 24, 8);
    take(map_hole(hole, 16, 8), 5, 3, 1);
    expect_layout(0, "H16 F5 L3@1");
    assert_true(find(12, 4, 1));
    expect_place(0, 8, 8);
}

static void no_hole_no_place(void **state)
{
    (void)state;
    map_hole(add_segment(0, 16, 8), 0, 16);
    assert_false(find(4, 1, 1)); /* a free block that fits is best fit's business */
}

/* ---- every window ------------------------------------------------------------------------------ */

#define GRANULE_UNITS 8
#define SEGMENT_UNITS (16 * GRANULE_UNITS)

enum unit { UNUSABLE, FREE, HOLE };

static void step(uint64_t *seed)
{
    struct xs_block *b;
    size_t kind = random_below(seed, 10);
    if (kind < 3 && (b = random_block(seed, XS_BLOCK_HOLE))) {
        size_t granules = xs_block_bytes(b) / UNIT / GRANULE_UNITS,
               skip = random_below(seed, granules);
        size_t n = xs_min(1 + random_below(seed, 3), granules - skip);
        map_hole(b, skip * GRANULE_UNITS, n * GRANULE_UNITS);
    } else if (kind < 7 && (b = random_block(seed, XS_BLOCK_FREE))) {
        size_t units = xs_block_bytes(b) / UNIT, skip = random_below(seed, units);
        size_t n = 1 + random_below(seed, units - skip);
        take(b, skip, n, 1 + (uint32_t)random_below(seed, STREAMS));
    } else if (kind < 9 && (b = random_block(seed, XS_BLOCK_LIVE))) {
        give(b);
    } else {
        pass(1 + (uint32_t)random_below(seed, STREAMS));
    }
}

static enum unit kind_of(const struct xs_block *block, uint32_t stream)
{
    if (xs_block_state_of(block) == XS_BLOCK_HOLE)
        return HOLE;
    bool usable = xs_block_state_of(block) == XS_BLOCK_FREE &&
                  (block->stream == ON(stream) || xs_block_has_passed(block, &fences));
    return usable ? FREE : UNUSABLE;
}

static void draw(size_t segment, uint32_t stream, enum unit units[SEGMENT_UNITS])
{
    XS_LIST_FOR_EACH(by_addr, &segments[segment].blocks) {
        const struct xs_block *b = xs_block_of_place(by_addr);
        size_t first = (xs_block_va(b) - segments[segment].base) / UNIT;
        for (size_t i = 0; i < xs_block_bytes(b) / UNIT; i++)
            units[first + i] = kind_of(b, stream);
    }
}

/* What [begin, begin + n) lacks, in units; SIZE_MAX: it cannot serve. Granules are counted one by one. */
static size_t cost(const enum unit units[SEGMENT_UNITS], size_t begin, size_t n)
{
    size_t missing = 0, last = SIZE_MAX;
    for (size_t i = begin; i < begin + n; i++) {
        if (units[i] == UNUSABLE)
            return SIZE_MAX;
        if (units[i] == HOLE && i / GRANULE_UNITS != last) {
            missing += GRANULE_UNITS;
            last = i / GRANULE_UNITS;
        }
    }
    return missing;
}

/* Whether the stretch of usable units around `i` has a hole: only such are searched. */
static bool has_hole(const enum unit units[SEGMENT_UNITS], size_t i)
{
    size_t from = i, to = i;
    while (from > 0 && units[from - 1] != UNUSABLE)
        from--;
    while (to < SEGMENT_UNITS && units[to] != UNUSABLE)
        to++;
    for (; from < to; from++)
        if (units[from] == HOLE)
            return true;
    return false;
}

static size_t cheapest(uint32_t stream, size_t n, size_t align)
{
    size_t best = SIZE_MAX;
    for (size_t segment = 0; segment < SEGMENTS; segment++) {
        enum unit units[SEGMENT_UNITS];
        draw(segment, stream, units);
        for (size_t begin = 0; begin + n <= SEGMENT_UNITS; begin += align)
            if (has_hole(units, begin))
                best = xs_min(best, cost(units, begin, n));
    }
    return best;
}

static void expect_cheapest(uint32_t stream, size_t n, size_t align)
{
    size_t best = cheapest(stream, n, align);
    if (find(n, align, stream) != (best != SIZE_MAX))
        fail_msg("%zu units by %zu: %sfound", n, align, place.first ? "" : "not ");
    if (!place.first)
        return;
    size_t segment = place.first->segment == &segments[1];
    size_t begin = (place.va - segments[segment].base) / UNIT;
    enum unit units[SEGMENT_UNITS];
    draw(segment, stream, units);
    if (begin % align || place.new_bytes != cost(units, begin, n) * UNIT ||
        place.new_bytes != best * UNIT)
        fail_msg("%zu units by %zu for stream %u: found %zu at %zu, best %zu; %s", n, align, stream,
                 place.new_bytes / UNIT, begin, best, layout(segment));
}

static void no_window_is_cheaper_than_the_one_found(void **state)
{
    (void)state;
    uint64_t seed = 7;
    size_t found = 0;
    add_segment(0, SEGMENT_UNITS, GRANULE_UNITS);
    add_segment(1, SEGMENT_UNITS, GRANULE_UNITS);
    for (int i = 0; i < 6000; i++) {
        step(&seed);
        if (i % 100 == 0)
            assert_sound();
        size_t align = (size_t)1 << random_below(&seed, 4); /* up to the granule */
        size_t n = align * (1 + random_below(&seed, 60 / align));
        expect_cheapest(1 + (uint32_t)random_below(&seed, STREAMS), n, align);
        found += place.first != NULL;
        if (i % 300 == 299) { /* afresh, so that there are holes again */
            end_heap(NULL);
            make_heap(NULL);
            add_segment(0, SEGMENT_UNITS, GRANULE_UNITS);
            add_segment(1, SEGMENT_UNITS, GRANULE_UNITS);
        }
    }
    assert_true(found > 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        heap_test(fewest_new_bytes_win),
        heap_test(holes_cost_whole_granules),
        heap_test(other_streams_memory_serves_only_once_it_passed),
        heap_test(equal_cost_goes_to_the_lowest_address),
        heap_test(live_and_busy_blocks_end_a_run),
        heap_test(aligned_window_begins_at_a_multiple),
        heap_test(aligned_window_may_end_short_of_a_free_block),
        heap_test(no_hole_no_place),
        heap_test(no_window_is_cheaper_than_the_one_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
