/* Best fit, splitting, joining, settling: by hand, and at random against a plain array of units. */
#include "heap_fixture.h"

/* A segment of 64 units, all idle. */
static struct xs_block *make_idle(size_t segment)
{
    return map_hole(add_segment(segment, 64, 8), 0, 64);
}

/* ---- taking ------------------------------------------------------------------------------------ */

static void take_cuts_what_it_does_not_need(void **state)
{
    (void)state;
    struct xs_block *live = take(make_idle(0), 0, 10, 1);
    expect_layout(0, "L10@1 F54");
    assert_int_equal(xs_block_va(live), at(0, 0));
    assert_int_equal(heap.free_bytes, 54 * UNIT);
    take(block_at(0, 10), 20, 4, 2);
    expect_layout(0, "L10@1 F20 L4@2 F30");
    take(block_at(0, 10), 0, 20, 1);
    expect_layout(0, "L10@1 L20@1 L4@2 F30"); /* all of it: no cut */
    assert_int_equal(heap.free_bytes, 30 * UNIT);
    assert_int_equal(ON(1)->refs, 2);
    assert_int_equal(ON(2)->refs, 1);
    assert_int_equal(records.live, 4);
}

static struct xs_block *find(size_t units, size_t align_units, uint32_t stream, size_t *begin)
{
    xs_cu_ptr va = 0;
    struct xs_block *b = xs_heap_find(&heap, units * UNIT, align_units > 1 ? align_units * UNIT : 1,
                                      ON(stream), &va);
    *begin = b ? (va - segments[0].base) / UNIT : SIZE_MAX;
    return b;
}

static void best_fit_is_the_smallest_at_the_lowest_address(void **state)
{
    (void)state;
    size_t begin;
    make_idle(0);
    take(block_at(0, 0), 9, 1, 1);
    take(block_at(0, 10), 5, 1, 1);
    take(block_at(0, 16), 5, 1, 1);
    expect_layout(0, "F9 L1@1 F5 L1@1 F5 L1@1 F42");
    find(5, 1, 2, &begin);
    assert_int_equal(begin, 10);
    find(6, 1, 2, &begin);
    assert_int_equal(begin, 0);
    find(10, 1, 2, &begin);
    assert_int_equal(begin, 22);
    assert_null(find(43, 1, 2, &begin));
}

static void own_block_comes_before_an_idle_one_of_the_same_size(void **state)
{
    (void)state;
    size_t begin;
    make_idle(0);
    take(block_at(0, 0), 4, 1, 3); /* idle 4 | LIVE | ... */
    struct xs_block *own = take(block_at(0, 5), 0, 4, 1);
    take(block_at(0, 9), 0, 55, 3);
    give(own);
    expect_layout(0, "F4 L1@3 F4@1 L55@3");
    find(4, 1, 1, &begin);
    assert_int_equal(begin, 5);
    find(4, 1, 2, &begin); /* another stream may only use the idle one */
    assert_int_equal(begin, 0);
}

static void other_streams_block_is_not_found_before_it_is_idle(void **state)
{
    (void)state;
    size_t begin;
    make_idle(0);
    give(take(block_at(0, 0), 0, 64, 1));
    assert_null(find(1, 1, 2, &begin));
    assert_non_null(find(1, 1, 1, &begin));
    pass(1);
    assert_null(find(1, 1, 2, &begin));
    assert_true(xs_heap_settle(&heap, &fences, NULL));
    assert_non_null(find(64, 1, 2, &begin));
}

static void aligned_request_goes_where_it_can_be_aligned(void **state)
{
    (void)state;
    size_t begin;
    make_idle(0);
    take(block_at(0, 0), 1, 1, 1); /* F1 L1 */
    take(block_at(0, 2), 6, 1, 1); /* F6 at 2: holds 4 by 4 at 4 */
    take(block_at(0, 9), 6, 1, 1); /* F6 at 9: does not hold 4 by 8 */
    expect_layout(0, "F1 L1@1 F6 L1@1 F6 L1@1 F48");
    find(4, 4, 2, &begin);
    assert_int_equal(begin, 4);
    find(5, 8, 2, &begin);
    assert_int_equal(begin, 16); /* not in the best fits */
    assert_ptr_equal(find(2, 2, 2, &begin), block_at(0, 2));
    take(block_at(0, 16), 0, 48, 1);
    assert_ptr_equal(find(6, 4, 2, &begin),
                     block_at(0, 2)); /* nowhere aligned: the best fit as it is */
    assert_int_equal(begin, 2);
}

/* ---- putting back ------------------------------------------------------------------------------- */

static void freed_block_joins_both_neighbours(void **state)
{
    (void)state;
    make_idle(0);
    struct xs_block *a = take(block_at(0, 0), 0, 10, 1), *b = take(block_at(0, 10), 0, 10, 1),
                    *c = take(block_at(0, 20), 0, 44, 1);
    give(a);
    give(c);
    expect_layout(0, "F10@1 L10@1 F44@1");
    struct xs_block *all = give(b);
    expect_layout(0, "F64@1");
    assert_ptr_equal(all, block_at(0, 0));
    assert_int_equal(ON(1)->refs, 1);
    assert_int_equal(records.live, 1);
    assert_int_equal(heap.free_bytes, 64 * UNIT);
}

static void blocks_of_two_streams_stay_apart(void **state)
{
    (void)state;
    make_idle(0);
    struct xs_block *a = take(block_at(0, 0), 0, 32, 1), *b = take(block_at(0, 32), 0, 32, 2);
    give(a);
    give(b);
    expect_layout(0, "F32@1 F32@2");
    pass(1);
    xs_heap_settle(&heap, &fences, NULL);
    expect_layout(0, "F64@2"); /* the idle one joins, and waits with the other */
    pass(2);
    xs_heap_settle(&heap, &fences, NULL);
    expect_layout(0, "F64");
    assert_int_equal(ON(1)->refs + ON(2)->refs, 0);
}

static void joint_block_carries_the_latest_stamp(void **state)
{
    (void)state;
    make_idle(0);
    struct xs_block *a = take(block_at(0, 0), 0, 32, 1), *b = take(block_at(0, 32), 0, 32, 1);
    give(b);
    pass(1); /* b's stamp, not a's */
    uint64_t later = xs_fence_stamp(&fences);
    struct xs_block *joint = give(a);
    assert_int_equal(joint->stamp, later);
    assert_false(xs_heap_settle(&heap, &fences, NULL));
    take(joint, 0, 32, 1);
    assert_int_equal(block_at(0, 32)->stamp, later); /* and so does each part of it */
    expect_layout(0, "L32@1 F32@1");
}

/* ---- settling ------------------------------------------------------------------------------------ */

static void settle_leaves_what_has_not_passed_and_the_exception(void **state)
{
    (void)state;
    make_idle(0);
    struct xs_block *b[4];
    for (size_t i = 0; i < 4; i++)
        b[i] = take(block_at(0, 16 * i), 0, 16, 1 + (uint32_t)i % 3);
    give(b[0]); /* stream 1 */
    give(b[2]); /* stream 3 */
    pass(1);
    pass(3);
    give(b[1]); /* stream 2, in a later epoch */
    expect_layout(0, "F16@1 F16@2 F16@3 L16@1");
    assert_true(xs_heap_settle(&heap, &fences, ON(1)));
    expect_layout(0, "F16@1 F32@2 L16@1");
    assert_false(xs_heap_settle(&heap, &fences, ON(1)));
    pass(2);
    assert_true(xs_heap_settle(&heap, &fences, ON(1)));
    expect_layout(0,
                  "F48@1 L16@1"); /* idle memory joins the stream's own, which it may use anyway */
    assert_true(xs_heap_settle(&heap, &fences, NULL));
    expect_layout(0, "F48 L16@1");
}

static void settle_goes_through_a_whole_tree(void **state)
{
    (void)state;
    make_idle(0);
    struct xs_block *b[32];
    for (size_t i = 0; i < 32; i++)
        b[i] = take(block_at(0, 2 * i), 0, 2, 1 + (uint32_t)i % 2);
    for (size_t i = 0; i < 32; i += 2)
        give(b[i]);
    pass(1);
    assert_true(xs_heap_settle(&heap, &fences, NULL));
    assert_int_equal(heap.free[1].count, 0);
    assert_int_equal(heap.free[0].count, 16);
    assert_sound();
}

static void adopted_blocks_change_streams_by_their_stamp(void **state)
{
    (void)state;
    make_idle(0);
    struct xs_block *b[4];
    for (size_t i = 0; i < 4; i++)
        b[i] = take(block_at(0, 16 * i), 0, 16, i < 3 ? 1 + (uint32_t)i : 1);
    give(b[1]); /* stream 2 */
    uint64_t epoch = atomic_fetch_add(&fences.epoch, 1);
    give(b[0]); /* stream 1, later */
    uint64_t stamp = xs_fence_stamp(&fences);
    expect_layout(0, "F16@1 F16@2 L16@3 L16@1");
    assert_true(xs_heap_adopt(&heap, ON(3), epoch, stamp));
    expect_layout(0, "F16@1 F16@3 L16@3 L16@1");
    assert_int_equal(block_at(0, 16)->stamp, stamp);
    assert_false(xs_heap_adopt(&heap, ON(3), epoch, stamp));
    assert_true(xs_heap_adopt(&heap, ON(3), stamp, stamp));
    expect_layout(0, "F32@3 L16@3 L16@1");
    pass(1), pass(2); /* no longer what they wait for */
    assert_false(xs_heap_settle(&heap, &fences, NULL));
}

static void live_block_can_change_its_stream(void **state)
{
    (void)state;
    struct xs_block *block = take(make_idle(0), 0, 64, 1);
    xs_heap_set_stream(block, ON(2));
    expect_layout(0, "L64@2");
    assert_int_equal(ON(1)->refs, 0);
    assert_int_equal(ON(2)->refs, 1);
}

/* ---- what growth needs ---------------------------------------------------------------------------- */

static void carve_out_of_a_hole_leaves_holes(void **state)
{
    (void)state;
    struct xs_block *hole = add_segment(0, 64, 8);
    assert_true(xs_heap_reserve(&heap, 2));
    struct xs_block *busy = xs_heap_carve(&heap, hole, at(0, 16), 24 * UNIT);
    expect_layout(0, "H16 B24 H24");
    assert_null(busy->stream);
    assert_ptr_equal(xs_heap_put_hole(&heap, busy), block_at(0, 0));
    expect_layout(0, "H64");
    assert_int_equal(records.live, 1);
}

static void carve_out_of_a_free_block_keeps_stream_and_stamp(void **state)
{
    (void)state;
    make_idle(0);
    struct xs_block *freed = give(take(block_at(0, 0), 0, 64, 1));
    uint64_t stamp = freed->stamp;
    assert_true(xs_heap_reserve(&heap, 2));
    struct xs_block *busy = xs_heap_carve(&heap, freed, at(0, 8), 8 * UNIT);
    expect_layout(0, "F8@1 B8@1 F48@1");
    assert_int_equal(busy->stamp, stamp);
    assert_int_equal(ON(1)->refs, 3);
    assert_int_equal(heap.free_bytes, 56 * UNIT);
    xs_heap_forget_stream(busy);
    assert_int_equal(ON(1)->refs, 2);
    assert_int_equal(busy->stamp, 0);
    xs_heap_put(&heap, busy, NULL, 0);
    expect_layout(0, "F64@1");
}

static void freed_memory_can_become_a_hole_between_holes(void **state)
{
    (void)state;
    struct xs_block *block = map_hole(add_segment(0, 64, 8), 16, 8);
    expect_layout(0, "H16 F8 H40");
    assert_true(xs_heap_reserve(&heap, 2));
    block = xs_heap_carve(&heap, block, at(0, 16), 8 * UNIT);
    xs_segment_detach(&segments[0], xs_segment_extent_at(&segments[0], at(0, 16)));
    xs_heap_put_hole(&heap, block);
    expect_layout(0, "H64");
    assert_int_equal(heap.free_bytes, 0);
}

static void busy_blocks_are_joined_cut_and_handed_out(void **state)
{
    (void)state;
    struct xs_block *idle = make_idle(0);
    assert_true(xs_heap_reserve(&heap, 4));
    struct xs_block *a = xs_heap_carve(&heap, idle, at(0, 0), 32 * UNIT);
    struct xs_block *b = xs_heap_carve(&heap, block_at(0, 32), at(0, 32), 32 * UNIT);
    xs_heap_join_busy(&heap, a, b);
    expect_layout(0, "B64");
    struct xs_block *rest = xs_heap_cut_busy(&heap, a, 10 * UNIT);
    expect_layout(0, "B10 B54");
    xs_heap_make_live(a, ON(2));
    xs_heap_put(&heap, rest, NULL, 0);
    expect_layout(0, "L10@2 F54");
    assert_int_equal(ON(2)->refs, 1);
}

/* ---- segments -------------------------------------------------------------------------------------- */

static void segments_come_and_go(void **state)
{
    (void)state;
    add_segment(0, 64, 8);
    struct xs_block *second = add_segment(1, 128, 8);
    assert_sound();
    xs_heap_remove_segment(&heap, second);
    assert_true(xs_list_is_empty(&segments[1].blocks));
    assert_sound();
    xs_heap_remove_segment(&heap, block_at(0, 0));
    assert_true(xs_list_is_empty(&heap.segments) && xs_list_is_empty(&heap.holes));
    assert_int_equal(records.live, 0);
    assert_sound();
}

/* A classic segment has no extents, and any size. */
static struct xs_block *add_classic(size_t i, size_t units)
{
    segments[i] =
        (struct xs_segment){.base = (i + 1) << 40, .bytes = units * UNIT, .granule = units * UNIT};
    xs_list_init(&segments[i].link);
    xs_list_init(&segments[i].blocks);
    assert_true(xs_heap_reserve(&heap, 1));
    return xs_heap_add_segment(&heap, &segments[i], XS_BLOCK_BUSY);
}

static void classic_segment_goes_as_a_whole(void **state)
{
    (void)state;
    struct xs_block *block = add_classic(0, 77);
    expect_layout(0, "B77");
    heap.searches = 5;
    block = xs_heap_put(&heap, block, NULL, 0);
    assert_int_equal(block->age, 5);
    assert_true(xs_block_is_whole_segment(block));
    take(block, 0, 10, 1);
    assert_false(xs_block_is_whole_segment(block_at(0, 10)));
    expect_layout(0, "L10@1 F67");
    give(block_at(0, 0));
    pass(1);
    xs_heap_settle(&heap, &fences, NULL);
    expect_layout(0, "F77");
    xs_heap_remove_segment(&heap, block_at(0, 0));
    assert_int_equal(heap.free_bytes, 0);
    assert_int_equal(records.live, 0);
    assert_sound();
}

/* ---- at random -------------------------------------------------------------------------------------- */

#define GRANULE_UNITS 8
#define SEGMENT_UNITS (20 * GRANULE_UNITS)

/* What is true of one unit of address space. */
struct unit {
    enum xs_block_state state;
    const struct xs_block *owner; /* LIVE */
    uint32_t stream;              /* FREE: of its own latest free; 0: none since it was mapped */
    uint64_t stamp;
};

static struct unit model[SEGMENTS][SEGMENT_UNITS];
static uint64_t seed;

static struct unit *units_of(const struct xs_block *block)
{
    size_t segment = block->segment == &segments[1];
    return &model[segment][(xs_block_va(block) - segments[segment].base) / UNIT];
}

static void set_units(const struct xs_block *block, struct unit unit)
{
    for (size_t i = 0; i < xs_block_bytes(block) / UNIT; i++)
        units_of(block)[i] = unit;
}

static bool is_done(const struct unit *unit)
{
    return !unit->stream || xs_fence_passed(&fences, ON(unit->stream), unit->stamp);
}

/* The state is the unit's own; and memory that is not done with is known to be so. */
static void expect_unit(const struct xs_block *block, const struct unit *unit)
{
    if (xs_block_state_of(block) != unit->state)
        fail_msg("a unit is %d, its block %u; %s", unit->state, xs_block_state_of(block),
                 layout(0));
    if (xs_block_state_of(block) == XS_BLOCK_LIVE && unit->owner != block)
        fail_msg("a unit has two owners");
    if (xs_block_state_of(block) == XS_BLOCK_FREE && !is_done(unit) &&
        (block->stream != ON(unit->stream) || block->stamp < unit->stamp))
        fail_msg("a unit waits for stream %u, its block does not; %s", unit->stream, layout(0));
}

static void expect_model(void)
{
    size_t free_units = 0;
    assert_sound();
    for (size_t segment = 0; segment < SEGMENTS; segment++) {
        XS_LIST_FOR_EACH(place, &segments[segment].blocks) {
            const struct xs_block *block = xs_block_of_place(place);
            for (size_t i = 0; i < xs_block_bytes(block) / UNIT; i++)
                expect_unit(block, &units_of(block)[i]);
        }
        for (size_t i = 0; i < SEGMENT_UNITS; i++)
            free_units += model[segment][i].state == XS_BLOCK_FREE;
    }
    assert_int_equal(heap.free_bytes, free_units * UNIT);
}

/* Best fit, by a look at every block. */
static const struct xs_block *naive_fit(size_t bytes, uint32_t stream)
{
    const struct xs_block *best = NULL;
    for (size_t segment = 0; segment < SEGMENTS; segment++) {
        XS_LIST_FOR_EACH(place, &segments[segment].blocks) {
            const struct xs_block *b = xs_block_of_place(place);
            if (xs_block_state_of(b) != XS_BLOCK_FREE || xs_block_bytes(b) < bytes ||
                (b->stream && b->stream != ON(stream)))
                continue;
            if (!best || xs_block_bytes(b) < xs_block_bytes(best) ||
                (xs_block_bytes(b) == xs_block_bytes(best) && b->stream && !best->stream))
                best = b;
        }
    }
    return best;
}

static void step_take(uint32_t stream)
{
    size_t align = (size_t)1 << random_below(&seed, 4);
    size_t bytes = align * (1 + random_below(&seed, 20 / align)) * UNIT;
    xs_cu_ptr va = 0;
    assert_true(xs_heap_reserve(&heap, 2));
    struct xs_block *block =
        xs_heap_find(&heap, bytes, align > 1 ? align * UNIT : 1, ON(stream), &va);
    const struct xs_block *naive = naive_fit(bytes, stream);
    assert_int_equal(block != NULL, naive != NULL);
    if (!block)
        return;
    assert_true(align > 1 || (block == naive && va == xs_block_va(block)));
    assert_true(xs_block_va(block) <= va && va + bytes <= xs_block_end(block));
    assert_true(va % (align * UNIT) == 0 || va == xs_block_va(naive));
    block = xs_heap_take(&heap, block, va, bytes, ON(stream));
    assert_int_equal(xs_block_va(block), va);
    assert_int_equal(xs_block_bytes(block), bytes);
    for (size_t i = 0; i < bytes / UNIT; i++) /* nobody else may still be using it */
        assert_true(is_done(&units_of(block)[i]) || units_of(block)[i].stream == stream);
    set_units(block, (struct unit){.state = XS_BLOCK_LIVE, .owner = block});
}

static void step_give(void)
{
    struct xs_block *block = random_block(&seed, XS_BLOCK_LIVE);
    if (!block)
        return;
    set_units(block, (struct unit){.state = XS_BLOCK_FREE,
                                   .stream = block->stream->index,
                                   .stamp = xs_fence_stamp(&fences)});
    give(block);
}

static void step_map(void)
{
    struct xs_block *hole = random_block(&seed, XS_BLOCK_HOLE);
    if (!hole)
        return;
    size_t granules = xs_block_bytes(hole) / UNIT / GRANULE_UNITS;
    size_t skip = random_below(&seed, granules);
    size_t n = xs_min(1 + random_below(&seed, 4), granules - skip);
    struct unit *from = units_of(hole) + skip * GRANULE_UNITS;
    map_hole(hole, skip * GRANULE_UNITS, n * GRANULE_UNITS);
    for (size_t i = 0; i < n * GRANULE_UNITS; i++)
        from[i] = (struct unit){.state = XS_BLOCK_FREE};
}

/* An extent that lies wholly in a block which nobody uses is taken away. */
static void step_unmap(void)
{
    struct xs_block *block = random_block(&seed, XS_BLOCK_FREE);
    if (!block || !xs_block_has_passed(block, &fences))
        return;
    struct xs_extent *e = xs_segment_extent_at(block->segment, xs_block_end(block) - 1);
    if (e->va < xs_block_va(block) || e->va + e->bytes > xs_block_end(block))
        return;
    assert_true(xs_heap_reserve(&heap, 2));
    struct xs_block *busy = xs_heap_carve(&heap, block, e->va, e->bytes);
    for (size_t i = 0; i < e->bytes / UNIT; i++)
        assert_true(is_done(&units_of(busy)[i]));
    set_units(busy, (struct unit){.state = XS_BLOCK_HOLE});
    xs_segment_detach(busy->segment, e);
    xs_slab_put(&extent_records, e);
    xs_heap_put_hole(&heap, busy);
}

/* The stream's further work comes after all that was freed by now. */
static void step_adopt(uint32_t stream)
{
    uint64_t epoch = atomic_fetch_add(&fences.epoch, 1), stamp = epoch + 1;
    xs_heap_adopt(&heap, ON(stream), epoch, stamp);
    for (size_t i = 0; i < SEGMENTS * SEGMENT_UNITS; i++) {
        struct unit *unit = &model[i / SEGMENT_UNITS][i % SEGMENT_UNITS];
        if (unit->state == XS_BLOCK_FREE && !is_done(unit) && unit->stream != stream)
            *unit = (struct unit){.state = XS_BLOCK_FREE, .stream = stream, .stamp = stamp};
    }
}

static void random_steps_agree_with_the_model(void **state)
{
    (void)state;
    seed = 12345;
    add_segment(0, SEGMENT_UNITS, GRANULE_UNITS);
    add_segment(1, SEGMENT_UNITS, GRANULE_UNITS);
    for (size_t segment = 0; segment < SEGMENTS; segment++)
        for (size_t i = 0; i < SEGMENT_UNITS; i++)
            model[segment][i] = (struct unit){.state = XS_BLOCK_HOLE};
    for (int i = 0; i < 30000; i++) {
        uint32_t stream = 1 + (uint32_t)random_below(&seed, STREAMS);
        switch (random_below(&seed, 20)) {
        case 0:
            step_map();
            break;
        case 1:
            step_unmap();
            break;
        case 2:
            pass(stream);
            break;
        case 3:
            xs_heap_settle(&heap, &fences, random_below(&seed, 2) ? ON(stream) : NULL);
            break;
        case 4:
            if (random_below(&seed, 3) == 0)
                step_adopt(stream);
            break;
        default:
            random_below(&seed, 2) ? step_take(stream) : step_give();
        }
        expect_model();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        heap_test(take_cuts_what_it_does_not_need),
        heap_test(best_fit_is_the_smallest_at_the_lowest_address),
        heap_test(own_block_comes_before_an_idle_one_of_the_same_size),
        heap_test(other_streams_block_is_not_found_before_it_is_idle),
        heap_test(aligned_request_goes_where_it_can_be_aligned),
        heap_test(freed_block_joins_both_neighbours),
        heap_test(blocks_of_two_streams_stay_apart),
        heap_test(joint_block_carries_the_latest_stamp),
        heap_test(settle_leaves_what_has_not_passed_and_the_exception),
        heap_test(settle_goes_through_a_whole_tree),
        heap_test(adopted_blocks_change_streams_by_their_stamp),
        heap_test(live_block_can_change_its_stream),
        heap_test(carve_out_of_a_hole_leaves_holes),
        heap_test(carve_out_of_a_free_block_keeps_stream_and_stamp),
        heap_test(freed_memory_can_become_a_hole_between_holes),
        heap_test(busy_blocks_are_joined_cut_and_handed_out),
        heap_test(segments_come_and_go),
        heap_test(classic_segment_goes_as_a_whole),
        heap_test(random_steps_agree_with_the_model),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
