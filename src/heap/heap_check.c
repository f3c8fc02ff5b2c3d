/*
 * Two walks. The first goes over the segments, block by block, and counts what should be in the heap's
 * trees and in its list of holes; the second goes over those and finds that they hold as many, each in
 * its place. So neither can have a block that the other lacks.
 *
 *     segments:  | LIVE | FREE a | HOLE b | FREE c |      trees: a c      holes: b
 *
 * A hole can be millions of granules of untouched records: only its two ends are looked at here. That
 * nothing lies in between follows from the count of extents, which is core/device_check.c's.
 */
#include "heap/heap_check.h"

#include <stdarg.h>
#include <stdio.h>

#define HOLE_END_GRANULES 64

struct check {
    const struct xs_heap *heap;
    struct xs_finding *finding;
    size_t free_blocks; /* met in segments */
    size_t free_bytes;
    size_t holes;
};

bool xs_broken(struct xs_finding *finding, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    vsnprintf(finding->text, sizeof(finding->text), fmt, args);
    va_end(args);
    return false;
}

static bool broken_block(struct check *c, const char *rule, const struct xs_block *block,
                         const char *what)
{
    static const char *const states[] = {"LIVE",  "CACHED", "WAITING", "FREE",
                                         "STALE", "HOLE",   "BUSY"};
    const char *state = xs_block_state_of(block) < XS_COUNT_OF(states)
                            ? states[xs_block_state_of(block)]
                            : "unknown";
    return xs_broken(c->finding, "%s: %s block at 0x%llx, %zu bytes, stream %u: %s", rule, state,
                     xs_block_va(block), xs_block_bytes(block),
                     block->stream ? block->stream->index : 0, what);
}

static bool is_linked_well(const struct xs_list *link)
{
    return link->next->prev == link && link->prev->next == link;
}

/* ---- one block ------------------------------------------------------------------------------ */

/* H1 */
static bool check_tiling(struct check *c, const struct xs_block *block, xs_cu_ptr expected_va)
{
    const struct xs_segment *segment = block->segment;
    if (!is_linked_well(&block->by_addr))
        return broken_block(c, "H1", block, "the links to its neighbours do not match");
    if (xs_block_va(block) != expected_va)
        return broken_block(c, "H1", block, "does not begin where the one before it ends");
    if (!xs_block_bytes(block) || xs_block_end(block) > segment->base + segment->bytes)
        return broken_block(c, "H1", block, "is empty or ends outside its segment");
    return true;
}

/* H2 */
static bool check_owner(struct check *c, const struct xs_block *block,
                        const struct xs_segment *segment)
{
    if (block->segment != segment || block->heap != c->heap)
        return broken_block(c, "H2", block, "names another segment or heap");
    return xs_block_state_of(block) <= XS_BLOCK_BUSY ||
           broken_block(c, "H2", block, "has no state");
}

/* H3, H4 */
static bool check_neighbour(struct check *c, const struct xs_block *block)
{
    const struct xs_block *next = xs_block_next(block);
    if (!next || xs_block_state_of(next) != xs_block_state_of(block))
        return true;
    if (xs_block_state_of(block) == XS_BLOCK_HOLE)
        return broken_block(c, "H4", block, "the next one is a hole too");
    bool joinable = !c->heap->whole && xs_block_streams_join(block->stream, next->stream);
    return xs_block_state_of(block) != XS_BLOCK_FREE || !joinable ||
           broken_block(c, "H3", block, "could be joined with the next one");
}

/* H5, first half */
static bool check_hole(struct check *c, const struct xs_block *block)
{
    const struct xs_segment *segment = block->segment;
    c->holes++;
    if (!segment->extent_at)
        return broken_block(c, "H5", block, "is in a classic segment");
    if ((xs_block_va(block) - segment->base) % segment->granule ||
        xs_block_bytes(block) % segment->granule)
        return broken_block(c, "H5", block, "is not of whole granules");
    return !xs_list_is_empty(&block->link) ||
           broken_block(c, "H5", block, "is not in the list of holes");
}

/* H6, first half */
static bool check_free(struct check *c, const struct xs_block *block)
{
    uint32_t index = block->stream ? block->stream->index : 0;
    c->free_blocks++;
    c->free_bytes += xs_block_bytes(block);
    if (index >= c->heap->trees)
        return broken_block(c, "H6", block, "its stream's index is beyond the heap's trees");
    const struct xs_tree_node *found =
        xs_bins_at_least(&c->heap->free[index], xs_block_bytes(block), xs_block_va(block));
    return found == &block->node || broken_block(c, "H6", block, "is not in its stream's tree");
}

/* H8. A LIVE block keeps the stamp that it had while it was CACHED. */
static bool check_stream(struct check *c, const struct xs_block *block)
{
    enum xs_block_state state = xs_block_state_of(block);
    bool ordered = state == XS_BLOCK_LIVE || state == XS_BLOCK_CACHED ||
                   state == XS_BLOCK_WAITING || state == XS_BLOCK_STALE;
    if (ordered && !block->stream)
        return broken_block(c, "H8", block, "has no stream");
    if (state == XS_BLOCK_HOLE && block->stream)
        return broken_block(c, "H8", block, "has a stream, though unmapped");
    return block->stream || !block->stamp ||
           broken_block(c, "H8", block, "has a stamp, but no stream");
}

static bool check_state(struct check *c, const struct xs_block *block)
{
    if (xs_block_state_of(block) == XS_BLOCK_FREE)
        return check_free(c, block);
    return xs_block_state_of(block) != XS_BLOCK_HOLE || check_hole(c, block);
}

/* ---- extents -------------------------------------------------------------------------------- */

/* H9: the extent at *va covers its whole range and nothing else; *va moves to its end. */
static bool check_extent(struct check *c, const struct xs_segment *segment, xs_cu_ptr *va)
{
    const struct xs_extent *e = xs_segment_extent_at(segment, *va);
    if (e->bytes == 0 || e->bytes % segment->granule || e->va < segment->base ||
        e->va + e->bytes > segment->base + segment->bytes ||
        (e->va - segment->base) % segment->granule)
        return xs_broken(c->finding,
                         "H9: extent at 0x%llx, %zu bytes, is not whole granules of the "
                         "segment at 0x%llx",
                         e->va, e->bytes, segment->base);
    if (*va < e->va || *va >= e->va + e->bytes)
        return xs_broken(c->finding, "H9: 0x%llx is backed by an extent that says it is at 0x%llx",
                         *va, e->va);
    for (xs_cu_ptr at = e->va; at < e->va + e->bytes; at += segment->granule)
        if (xs_segment_extent_at(segment, at) != e)
            return xs_broken(c->finding, "H9: extent at 0x%llx, %zu bytes, does not back 0x%llx",
                             e->va, e->bytes, at);
    *va = e->va + e->bytes;
    return true;
}

/* H10 */
static bool check_backed(struct check *c, const struct xs_block *block)
{
    const struct xs_segment *segment = block->segment;
    for (xs_cu_ptr va = xs_block_va(block); va < xs_block_end(block);) {
        if (!xs_segment_extent_at(segment, va))
            return broken_block(c, "H10", block, "a granule of it is not backed");
        if (!check_extent(c, segment, &va))
            return false;
    }
    return true;
}

static bool has_extent(const struct xs_segment *segment, xs_cu_ptr from, xs_cu_ptr to)
{
    for (xs_cu_ptr va = from; va < to; va += segment->granule)
        if (xs_segment_extent_at(segment, va))
            return true;
    return false;
}

/* H11 */
static bool check_unbacked(struct check *c, const struct xs_block *block)
{
    const struct xs_segment *segment = block->segment;
    size_t part = xs_min(xs_block_bytes(block), HOLE_END_GRANULES * segment->granule);
    xs_cu_ptr va = xs_block_va(block), end = xs_block_end(block);
    return !(has_extent(segment, va, va + part) || has_extent(segment, end - part, end)) ||
           broken_block(c, "H11", block, "an extent lies in it");
}

/* Nothing there that could be used. */
static bool is_unbacked(const struct xs_block *block)
{
    return xs_block_state_of(block) == XS_BLOCK_HOLE || xs_block_state_of(block) == XS_BLOCK_STALE;
}

/* A BUSY block is of one kind throughout: a growth takes out free memory or holes. */
static bool check_backing(struct check *c, const struct xs_block *block)
{
    if (!block->segment->extent_at)
        return true;
    bool hole = is_unbacked(block) || (xs_block_state_of(block) == XS_BLOCK_BUSY &&
                                       !xs_segment_extent_at(block->segment, xs_block_va(block)));
    return hole ? check_unbacked(c, block) : check_backed(c, block);
}

/* H12: where blocks are never joined, an extent in two of them could never go. */
static bool check_whole(struct check *c, const struct xs_block *block)
{
    const struct xs_segment *segment = block->segment;
    if (!c->heap->whole || !segment->extent_at || is_unbacked(block))
        return true;
    const struct xs_extent *first = xs_segment_extent_at(segment, xs_block_va(block));
    const struct xs_extent *last = xs_segment_extent_at(segment, xs_block_end(block) - 1);
    return (first->va == xs_block_va(block) && last->va + last->bytes == xs_block_end(block)) ||
           broken_block(c, "H12", block, "is not whole extents");
}

/* ---- the walks ------------------------------------------------------------------------------ */

static bool check_block(struct check *c, const struct xs_block *block,
                        const struct xs_segment *segment, xs_cu_ptr expected_va)
{
    return check_owner(c, block, segment) && check_tiling(c, block, expected_va) &&
           check_neighbour(c, block) && check_stream(c, block) && check_state(c, block) &&
           check_backing(c, block) && check_whole(c, block);
}

static bool check_segment(struct check *c, const struct xs_segment *segment)
{
    xs_cu_ptr va = segment->base;
    XS_LIST_FOR_EACH(place, &segment->blocks) {
        const struct xs_block *block = xs_block_of_place(place);
        if (!check_block(c, block, segment, va))
            return false;
        va = xs_block_end(block);
    }
    return va == segment->base + segment->bytes ||
           xs_broken(c->finding,
                     "H1: the blocks of the segment at 0x%llx end at 0x%llx, it at 0x%llx",
                     segment->base, va, segment->base + segment->bytes);
}

/* H5, second half */
static bool check_hole_list(struct check *c)
{
    size_t count = 0;
    XS_LIST_FOR_EACH(link, &c->heap->holes) {
        const struct xs_block *block = xs_block_of_link(link);
        if (!is_linked_well(link) || ++count > c->holes)
            return xs_broken(c->finding,
                             "H5: the list of holes is broken, or longer than the %zu "
                             "holes of the segments",
                             c->holes);
        if (xs_block_state_of(block) != XS_BLOCK_HOLE || xs_list_is_empty(&block->by_addr))
            return broken_block(c, "H5", block, "is in the list of holes");
    }
    return count == c->holes ||
           xs_broken(c->finding, "H5: %zu holes in the list, %zu in segments", count, c->holes);
}

/* H6, second half. Returns the number of nodes, or SIZE_MAX. */
static size_t check_tree(struct check *c, uint32_t index)
{
    const struct xs_bins *tree = &c->heap->free[index];
    size_t count = 0;
    struct xs_tree_node *node = xs_bins_first(tree);
    for (; node && count <= tree->count; node = xs_bins_next(tree, node), count++) {
        const struct xs_block *block = xs_block_of_node(node);
        if (xs_block_state_of(block) != XS_BLOCK_FREE || block->heap != c->heap ||
            (block->stream ? block->stream->index : 0) != index)
            return broken_block(c, "H6", block, "is in the tree of another stream"), SIZE_MAX;
    }
    if (count != tree->count)
        return xs_broken(c->finding, "H6: the tree of stream %u counts %zu blocks, and has %zu",
                         index, tree->count, count),
               SIZE_MAX;
    return count;
}

static bool check_trees(struct check *c)
{
    size_t sum = 0;
    for (uint32_t index = 0; index < c->heap->trees; index++) {
        size_t count = check_tree(c, index);
        if (count == SIZE_MAX)
            return false;
        if ((xs_bit_set_next(&c->heap->filled, index) == index) != (count > 0))
            return xs_broken(c->finding,
                             "H6: the tree of stream %u has %zu blocks, and is listed as %s", index,
                             count, count ? "empty" : "filled");
        sum += count;
    }
    return sum == c->free_blocks ||
           xs_broken(c->finding, "H6: %zu blocks in trees, %zu in segments", sum, c->free_blocks);
}

/* H7 */
static bool check_sum(struct check *c)
{
    return c->heap->free_bytes == c->free_bytes ||
           xs_broken(c->finding, "H7: free_bytes is %zu, the free blocks have %zu",
                     c->heap->free_bytes, c->free_bytes);
}

bool xs_heap_check(const struct xs_heap *heap, struct xs_finding *finding)
{
    struct check c = {.heap = heap, .finding = finding};
    finding->text[0] = '\0';
    XS_LIST_FOR_EACH(link, &heap->segments)
        if (!check_segment(&c, XS_CONTAINER_OF(link, struct xs_segment, link)))
            return false;
    return check_hole_list(&c) && check_trees(&c) && check_sum(&c);
}
