/*
 * A heap without a driver: segments at made-up addresses, extents that are only records, stamps that pass
 * when the test says so. Sizes are in units of 512 bytes.
 */
#ifndef XS_TESTS_HEAP_FIXTURE_H
#define XS_TESTS_HEAP_FIXTURE_H

#include "unit.h"

#include "heap/heap.h"
#include "heap/heap_check.h"

#define UNIT     ((size_t)512)
#define STREAMS  3
#define SEGMENTS 2

static struct xs_slab records, extent_records;
static struct xs_heap heap;
static struct xs_fences fences;
static struct xs_stream streams[STREAMS + 1]; /* by index; [0] is not used */
static struct xs_segment segments[SEGMENTS];
static struct xs_finding finding;

#define ON(i) (&streams[i])

static inline int make_heap(void **state)
{
    (void)state;
    memset(streams, 0, sizeof(streams));
    memset(segments, 0, sizeof(segments));
    xs_slab_init(&records, sizeof(struct xs_block));
    xs_slab_init(&extent_records, sizeof(struct xs_extent));
    xs_fences_init(&fences);
    for (uint32_t i = 1; i <= STREAMS; i++)
        ON(i)->index = i;
    return !xs_heap_init(&heap, &records);
}

static inline int end_heap(void **state)
{
    (void)state;
    for (size_t i = 0; i < SEGMENTS; i++)
        free(segments[i].extent_at);
    xs_heap_destroy(&heap);
    xs_slab_destroy(&records);
    xs_slab_destroy(&extent_records);
    xs_fences_destroy(&fences);
    return 0;
}

#define heap_test(f) cmocka_unit_test_setup_teardown(f, make_heap, end_heap)

#define assert_sound()                                                                             \
    do {                                                                                           \
        if (!xs_heap_check(&heap, &finding))                                                       \
            fail_msg("%s", finding.text);                                                          \
    } while (0)

/* An expandable segment, one hole. */
static inline struct xs_block *add_segment(size_t i, size_t units, size_t granule_units)
{
    segments[i] = (struct xs_segment){.base = (i + 1) << 40,
                                      .bytes = units * UNIT,
                                      .granule = granule_units * UNIT,
                                      .extent_at = calloc(units / granule_units, sizeof(void *))};
    xs_list_init(&segments[i].link);
    xs_list_init(&segments[i].blocks);
    assert_true(xs_heap_reserve(&heap, 1));
    return xs_heap_add_segment(&heap, &segments[i], XS_BLOCK_HOLE);
}

static inline xs_cu_ptr at(size_t segment, size_t units)
{
    return segments[segment].base + units * UNIT;
}

/* The block that begins there. */
static inline struct xs_block *block_at(size_t segment, size_t units)
{
    XS_LIST_FOR_EACH(place, &segments[segment].blocks)
        if (xs_block_va(xs_block_of_place(place)) == at(segment, units))
            return xs_block_of_place(place);
    fail_msg("no block at %zu", units);
    abort();
}

static inline void back(struct xs_segment *segment, xs_cu_ptr va, size_t bytes)
{
    struct xs_extent *e = xs_slab_get(&extent_records);
    xs_list_init(&e->link);
    e->bytes = bytes;
    xs_segment_attach(segment, e, va);
}

/* Backs whole granules of a hole, from its `skip`th unit on, with one extent, and makes them idle. */
static inline struct xs_block *map_hole(struct xs_block *hole, size_t skip, size_t units)
{
    assert_true(xs_heap_reserve(&heap, 2));
    struct xs_block *block =
        xs_heap_carve(&heap, hole, xs_block_va(hole) + skip * UNIT, units * UNIT);
    back(block->segment, xs_block_va(block), xs_block_bytes(block));
    return xs_heap_put(&heap, block, NULL, 0);
}

static inline struct xs_block *take(struct xs_block *block, size_t skip, size_t units,
                                    uint32_t stream)
{
    assert_true(xs_heap_reserve(&heap, 2));
    return xs_heap_take(&heap, block, xs_block_va(block) + skip * UNIT, units * UNIT, ON(stream));
}

/* Frees a LIVE block on its stream, in the present epoch. */
static inline struct xs_block *give(struct xs_block *block)
{
    uint64_t stamp = xs_fence_stamp(&fences);
    block->stream->last_stamp = stamp;
    return xs_heap_put(&heap, block, block->stream, stamp);
}

/* Everything that was freed on the stream up to now has passed; frees from now on have not. */
static inline void pass(uint32_t stream)
{
    atomic_store(&ON(stream)->passed, atomic_fetch_add(&fences.epoch, 1));
}

/* A segment as text: "L4@1 F8 F2@1 H16 B3": state, units, stream. */
static inline const char *layout(size_t segment)
{
    static char text[4096];
    size_t len = 0;
    text[0] = '\0';
    XS_LIST_FOR_EACH(place, &segments[segment].blocks) {
        const struct xs_block *b = xs_block_of_place(place);
        len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%c%zu", len ? " " : "",
                                "LCWFSHB"[b->state], xs_block_bytes(b) / UNIT);
        if (b->stream)
            len += (size_t)snprintf(text + len, sizeof(text) - len, "@%u", b->stream->index);
    }
    return text;
}

#define expect_layout(segment, text)                                                               \
    do {                                                                                           \
        assert_sound();                                                                            \
        assert_string_equal(layout(segment), text);                                                \
    } while (0)

static inline uint64_t next_random(uint64_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed;
}

static inline size_t random_below(uint64_t *seed, size_t n)
{
    return (size_t)(next_random(seed) % n);
}

/* Some block of that state, or NULL. */
static inline struct xs_block *random_block(uint64_t *seed, enum xs_block_state state)
{
    struct xs_block *chosen = NULL;
    size_t seen = 0;
    for (size_t i = 0; i < SEGMENTS && segments[i].bytes; i++) {
        XS_LIST_FOR_EACH(place, &segments[i].blocks) {
            struct xs_block *block = xs_block_of_place(place);
            if (xs_block_state_of(block) == state && random_below(seed, ++seen) == 0)
                chosen = block;
        }
    }
    return chosen;
}

#endif
