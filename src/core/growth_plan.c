#include <string.h>

#include "base/error.h"
#include "core/extent_size.h"
#include "core/growth.h"
#include "policy/size_class.h"

/* A part of a hole that the window covers, while sources for it are being chosen. */
struct part {
    struct xs_block *block; /* BUSY, a hole's */
    size_t filled;
    bool leftwards; /* filled from its end, since the hole goes on before it, not after it */
};

/* ---- the window ----------------------------------------------------------------------------- */

static bool is_unmapped(const struct xs_block *block)
{
    return !xs_segment_extent_at(block->segment, xs_block_va(block));
}

/* Takes the window's pieces out of the heap: free parts to the byte, holes by whole granules. */
static void take_window(struct xs_growth *g, const struct xs_place *place)
{
    struct xs_heap *heap = g->heap;
    xs_cu_ptr end = place->va + g->bytes;
    struct xs_block *block = place->first;
    g->va = place->va;
    g->first = NULL;
    for (bool done = false; !done;) {
        size_t granule = block->segment->granule;
        xs_cu_ptr from = xs_block_va(block) > place->va ? xs_block_va(block) : place->va;
        xs_cu_ptr to = xs_block_end(block) < end ? xs_block_end(block) : end;
        done = to == end;
        if (xs_block_state_of(block) == XS_BLOCK_HOLE) {
            from = block->segment->base + xs_round_down(from - block->segment->base, granule);
            to = block->segment->base + xs_round_up(to - block->segment->base, granule);
        }
        block = xs_heap_carve(heap, block, from, to - from);
        if (xs_block_has_passed(block, &g->dev->fences))
            xs_heap_forget_stream(block);
        if (!g->first)
            g->first = block;
        g->last = block;
        block = xs_block_next(block);
    }
}

static void put_back(struct xs_block *block)
{
    if (is_unmapped(block))
        xs_heap_put_hole(block->heap, block);
    else
        xs_heap_put(block->heap, block, block->stream, block->stamp);
}

/* A piece that is put back may join its left neighbour, never one that is still BUSY. */
static void put_window_back(struct xs_growth *g)
{
    for (struct xs_block *block = g->first, *next; block; block = next) {
        next = block == g->last ? NULL : xs_block_next(block);
        put_back(block);
    }
}

static bool is_hole(const struct xs_block *block)
{
    return block && xs_block_state_of(block) == XS_BLOCK_HOLE;
}

/* How far a part can be enlarged into the hole it was cut from. Blocks that are never joined share no extent. */
static size_t room_beside(const struct part *part)
{
    if (part->block->heap->whole)
        return 0;
    const struct xs_block *rest =
        part->leftwards ? xs_block_prev(part->block) : xs_block_next(part->block);
    return is_hole(rest) ? xs_block_bytes(rest) : 0;
}

/* Enlarges a part, so that an extent larger than what is missing fits. */
static void enlarge(struct xs_growth *g, struct part *part, size_t bytes)
{
    struct xs_heap *heap = g->heap;
    struct xs_block *rest, *more;
    if (!part->leftwards) {
        rest = xs_block_next(part->block);
        more = xs_heap_carve(heap, rest, xs_block_va(rest), bytes);
        xs_heap_join_busy(heap, part->block, more);
        return;
    }
    rest = xs_block_prev(part->block);
    more = xs_heap_carve(heap, rest, xs_block_end(rest) - bytes, bytes);
    if (g->first == part->block)
        g->first = more;
    if (g->last == part->block)
        g->last = more;
    xs_heap_join_busy(heap, more, part->block);
    part->block = more;
}

/* Block records for one step: two for an enlargement, two to take an extent out of its block. */
#define RECORDS_A_STEP 4

/* ---- choosing sources ----------------------------------------------------------------------- */

static void place_extent(struct xs_growth *g, struct part *part, struct xs_extent *e,
                         struct xs_list *list)
{
    size_t missing = xs_block_bytes(part->block) - part->filled;
    if (e->bytes > missing)
        enlarge(g, part, e->bytes - missing);
    e->target = part->leftwards ? xs_block_end(part->block) - part->filled - e->bytes
                                : xs_block_va(part->block) + part->filled;
    part->filled += e->bytes;
    xs_list_push_back(list, &e->link);
}

static bool use_idle(struct xs_growth *g, struct part *part, size_t missing, size_t room)
{
    struct xs_extents *extents = &g->dev->extents;
    struct xs_extent *e = xs_extent_largest_idle(extents, missing);
    if (!e) {
        e = xs_extent_smallest_idle(extents, missing);
        if (!e || e->bytes > missing + room)
            return false;
    }
    xs_extent_take_idle(extents, e);
    place_extent(g, part, e, &g->idle);
    return true;
}

static void gather(struct xs_growth *g)
{
    if (!g->gathered)
        xs_movable_gather(&g->movable, g->dev, g->may_alias ? g->stream : NULL);
    g->gathered = true;
}

/* Extents less than half as large as a new one would be are traded, the smallest first. */
#define TRADE_RATIO 2

static bool use_trade(struct xs_growth *g, struct part *part, size_t missing, size_t room)
{
    struct xs_device *dev = g->dev;
    gather(g);
    struct xs_movable_set *movable = &g->movable.passed;
    if (!movable->bytes || !dev->max_fresh_bytes)
        return false;
    size_t bytes = xs_extent_size(g, missing, room, SIZE_MAX / 2), gone = 0;
    const struct xs_extent *largest = xs_movable_largest(movable, missing);
    if (!largest || largest->bytes * TRADE_RATIO > bytes || movable->bytes < bytes)
        return false;
    size_t most_steps = bytes / dev->caps.granule + 1; /* and the one of the new extent */
    if (!xs_heap_reserve(g->heap, most_steps * RECORDS_A_STEP))
        return false;
    struct xs_extent *e = xs_extent_new(&dev->extents, bytes);
    if (!e)
        return false;
    while (gone < bytes) {
        struct xs_extent *small = xs_movable_smallest(movable, dev->caps.granule);
        xs_movable_take(movable, small);
        xs_list_push_back(&g->traded, &small->link);
        gone += small->bytes;
    }
    place_extent(g, part, e, &g->fresh);
    return true;
}

/* One that could move is traded for smaller ones, of `most` bytes at most: all of it, if so much is missing. */
static bool split(struct xs_growth *g, struct part *part, struct xs_extent *large, size_t missing,
                  size_t most)
{
    size_t granule = g->dev->caps.granule;
    missing = xs_min(missing, large->bytes);
    if (!xs_heap_reserve(g->heap, (missing / granule + 1) * RECORDS_A_STEP))
        return false;
    xs_movable_take(&g->movable.passed, large);
    xs_list_push_back(&g->traded, &large->link);
    for (size_t bytes; missing; missing -= bytes) {
        bytes = xs_pow2_floor(xs_min(missing, most) / granule) * granule;
        struct xs_extent *e = xs_extent_new(&g->dev->extents, bytes);
        if (!e)
            return false;
        place_extent(g, part, e, &g->fresh);
    }
    return true;
}

/* Nothing new can be had, and what could move is too large for the gap. */
static bool use_split(struct xs_growth *g, struct part *part, size_t missing)
{
    gather(g);
    struct xs_extent *large = xs_movable_smallest(&g->movable.passed, missing);
    return large && split(g, part, large, missing, missing);
}

/* A large one that could move stays small from now on, if memory is not just being taken for good. */
static bool should_split(const struct xs_growth *g, const struct xs_extent *e)
{
    const struct xs_device *dev = g->dev;
    return e->bytes > xs_extent_most_to_pin(dev) && !xs_extent_only_accumulates(g) &&
           dev->limit_bytes == SIZE_MAX && dev->max_fresh_bytes;
}

/* The best of a set: the largest that fits, or else the smallest of the others. */
static struct xs_extent *best_of(const struct xs_movable_set *set, size_t missing)
{
    struct xs_extent *e = xs_movable_largest(set, missing);
    return e ? e : xs_movable_smallest(set, missing);
}

static bool use_movable(struct xs_growth *g, struct part *part, size_t missing, size_t room)
{
    gather(g);
    struct xs_extent *e = best_of(&g->movable.passed, missing);
    if (!e)
        return false;
    if (should_split(g, e))
        return split(g, part, e, missing, xs_extent_most_to_pin(g->dev));
    if (e->bytes > missing + room)
        return false;
    xs_movable_take(&g->movable.passed, e);
    place_extent(g, part, e, &g->moved);
    return true;
}

static bool use_alias(struct xs_growth *g, struct part *part, size_t missing, size_t room)
{
    struct xs_extent *e = best_of(&g->movable.own, missing);
    if (!e || e->bytes > missing + room)
        return false;
    xs_movable_take(&g->movable.own, e);
    g->alias_stamp = xs_max(g->alias_stamp, e->block->stamp);
    place_extent(g, part, e, &g->aliased);
    return true;
}

static enum xseg_result use_fresh(struct xs_growth *g, struct part *part, size_t missing,
                                  size_t room)
{
    struct xs_device *dev = g->dev;
    size_t used = dev->stats.now.reserved_bytes.current + g->fresh_bytes;
    size_t headroom = dev->limit_bytes > used && dev->max_fresh_bytes ? dev->limit_bytes - used : 0;
    if (headroom < dev->caps.granule && use_split(g, part, missing))
        return XSEG_OK;
    if (headroom < dev->caps.granule)
        return xs_fail(XSEG_ERROR_OUT_OF_MEMORY, "neither the limit nor the driver leaves room");
    struct xs_extent *e = xs_extent_new(&dev->extents, xs_extent_size(g, missing, room, headroom));
    if (!e)
        return xs_fail(XSEG_ERROR_HOST_MEMORY, "no host memory for an extent's record");
    g->fresh_bytes += e->bytes;
    place_extent(g, part, e, &g->fresh);
    return XSEG_OK;
}

static enum xseg_result fill_part(struct xs_growth *g, struct part *part)
{
    while (part->filled < xs_block_bytes(part->block)) {
        if (!xs_heap_reserve(g->heap, RECORDS_A_STEP))
            return xs_fail(XSEG_ERROR_HOST_MEMORY, "no host memory for block records");
        size_t missing = xs_block_bytes(part->block) - part->filled, room = room_beside(part);
        if (use_idle(g, part, missing, room) || use_trade(g, part, missing, room) ||
            use_movable(g, part, missing, room) || use_alias(g, part, missing, room))
            continue;
        enum xseg_result e = use_fresh(g, part, missing, room);
        if (e)
            return e;
    }
    return XSEG_OK;
}

static enum xseg_result fill_window(struct xs_growth *g)
{
    for (struct xs_block *block = g->first;; block = xs_block_next(block)) {
        if (is_unmapped(block)) {
            struct part part = {.block = block, .leftwards = !is_hole(xs_block_next(block))};
            enum xseg_result e = fill_part(g, &part);
            if (e)
                return e;
            block = part.block;
        }
        if (block == g->last)
            return XSEG_OK;
    }
}

/* ---- plan and cancel ------------------------------------------------------------------------ */

static void begin(struct xs_growth *g, const struct xs_request *request, bool may_alias)
{
    memset(g, 0, offsetof(struct xs_growth, movable));
    g->dev = request->dev;
    g->heap = &request->pool->expandable;
    g->stream = request->stream;
    g->bytes = request->bytes;
    g->may_alias = may_alias;
    xs_list_init(&g->moved);
    xs_list_init(&g->aliased);
    xs_list_init(&g->idle);
    xs_list_init(&g->fresh);
    xs_list_init(&g->traded);
    xs_list_init(&g->kept);
    xs_list_init(&g->stuck);
    xs_list_init(&g->stuck_fresh);
    xs_list_init(&g->stuck_alias);
    xs_movable_init(&g->movable);
}

static void put_extents_back(struct xs_list *list)
{
    XS_LIST_FOR_EACH_SAFE(link, list) {
        xs_list_remove(link);
        put_back(XS_CONTAINER_OF(link, struct xs_extent, link)->block);
    }
}

void xs_growth_cancel(struct xs_growth *g)
{
    struct xs_device *dev = g->dev;
    xs_assert_held(&dev->lock);
    put_extents_back(&g->moved);
    put_extents_back(&g->aliased);
    put_extents_back(&g->traded);
    XS_LIST_FOR_EACH_SAFE(link, &g->idle) {
        xs_list_remove(link);
        xs_extent_put_idle(&dev->extents, XS_CONTAINER_OF(link, struct xs_extent, link));
    }
    XS_LIST_FOR_EACH_SAFE(link, &g->fresh)
        xs_extent_delete(&dev->extents, XS_CONTAINER_OF(link, struct xs_extent, link));
    put_window_back(g);
}

static enum xseg_result plan_at(struct xs_growth *g, const struct xs_place *place)
{
    size_t most_pieces = 0; /* a carve makes up to two more of each */
    for (const struct xs_block *b = place->first; b && xs_block_va(b) < place->va + g->bytes;
         b = xs_block_next(b))
        most_pieces++;
    if (!xs_heap_reserve(g->heap, 2 * most_pieces))
        return xs_fail(XSEG_ERROR_HOST_MEMORY, "no host memory for block records");
    g->new_bytes = place->new_bytes;
    take_window(g, place);
    enum xseg_result e = fill_window(g);
    xs_movable_end(&g->movable);
    if (e)
        xs_growth_cancel(g);
    return e;
}

/* The cheapest place first. A hole there may be too narrow for the extents that there are; where no new one may
 * be created either, the tail of a segment takes any. */
enum xseg_result xs_growth_plan(struct xs_growth *g, const struct xs_request *request,
                                bool may_alias)
{
    const struct xs_fences *fences = &request->dev->fences;
    xs_assert_held(&request->dev->lock);
    struct xs_place place;
    size_t align = xs_class_alignment(request->bytes, request->dev->caps.granule);
    begin(g, request, may_alias);
    if (!xs_place_find(g->heap, fences, g->bytes, align, g->stream, &place))
        return XSEG_ERROR_NOT_SUPPORTED;
    enum xseg_result e = plan_at(g, &place);
    if (e != XSEG_ERROR_OUT_OF_MEMORY)
        return e;
    begin(g, request, may_alias);
    if (!xs_place_find_at_tail(g->heap, fences, g->bytes, align, g->stream, &place))
        return e;
    return plan_at(g, &place);
}
