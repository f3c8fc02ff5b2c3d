#include "core/movable.h"

void xs_movable_init(struct xs_movable *movable)
{
    movable->passed.bytes = movable->own.bytes = movable->waiting_bytes = 0;
    movable->passed.sizes = movable->own.sizes = 0;
}

_Static_assert(XS_EXTENT_SIZES <= 32, "a bit for each list");

/* Sizes are compared in units of the smallest granule there is, so that no device is needed here. */
static unsigned size_index(size_t bytes)
{
    return bytes < 64 * XS_KIB
               ? 0
               : (unsigned)xs_min(xs_log2(bytes / (64 * XS_KIB)), XS_EXTENT_SIZES - 1);
}

/* The next extent wholly inside the block, from *va on, which moves past it; NULL: no more. */
static struct xs_extent *next_inside(const struct xs_block *block, xs_cu_ptr *va)
{
    while (*va < xs_block_end(block)) {
        struct xs_extent *e = xs_segment_extent_at(block->segment, *va);
        bool inside = e->va >= xs_block_va(block) && e->va + e->bytes <= xs_block_end(block);
        *va = e->va + e->bytes;
        if (inside)
            return e;
    }
    return NULL;
}

static void add(struct xs_movable_set *set, struct xs_extent *e)
{
    unsigned i = size_index(e->bytes);
    if (!(set->sizes & 1u << i))
        xs_list_init(&set->extents[i]);
    set->sizes |= 1u << i;
    set->bytes += e->bytes;
    xs_list_push_back(&set->extents[i], &e->link);
}

static void add_block(struct xs_movable *movable, struct xs_block *block, bool passed, bool own)
{
    struct xs_extent *e;
    xs_cu_ptr va = xs_block_va(block);
    while ((e = next_inside(block, &va))) {
        e->block = block;
        if (passed && !e->stale)
            add(&movable->passed, e);
        else if (own)
            add(&movable->own, e);
        else
            movable->waiting_bytes += e->bytes;
    }
}

/* From small blocks to large ones: what serves least is taken apart first. Of a pool's memory it is not known that only
 * the stream that freed it has used it: a graph may have been launched on any. */
static void gather_heap(struct xs_movable *movable, struct xs_device *dev, struct xs_heap *heap,
                        const struct xs_stream *stream)
{
    const struct xs_stream *owner = heap == &dev->main.expandable ? stream : NULL;
    XS_BIT_SET_FOR_EACH(index, &heap->filled)
    {
        struct xs_tree_node *node = xs_bins_at_least(&heap->free[index], dev->caps.granule, 0);
        for (; node; node = xs_bins_next(&heap->free[index], node)) {
            struct xs_block *block = xs_block_of_node(node);
            add_block(movable, block, xs_block_has_passed(block, &dev->fences),
                      owner && block->stream == owner);
        }
    }
}

void xs_movable_gather(struct xs_movable *movable, struct xs_device *dev,
                       const struct xs_stream *stream)
{
    XS_LIST_FOR_EACH(link, &dev->pools)
        if (!xs_pool_of_link(link)->held)
            gather_heap(movable, dev, &xs_pool_of_link(link)->expandable, stream);
}

static void forget(struct xs_movable_set *set)
{
    for (; set->sizes; set->sizes &= set->sizes - 1)
        XS_LIST_FOR_EACH_SAFE(link, &set->extents[__builtin_ctz(set->sizes)])
            xs_list_remove(link);
}

void xs_movable_end(struct xs_movable *movable)
{
    forget(&movable->passed);
    forget(&movable->own);
}

struct xs_extent *xs_movable_largest(const struct xs_movable_set *set, size_t max_bytes)
{
    uint32_t sizes = set->sizes & ((2u << size_index(max_bytes)) - 1);
    for (unsigned i; sizes; sizes &= ~(1u << i)) {
        i = xs_log2(sizes);
        XS_LIST_FOR_EACH(link, &set->extents[i]) {
            struct xs_extent *e = XS_CONTAINER_OF(link, struct xs_extent, link);
            if (e->bytes <= max_bytes)
                return e;
        }
    }
    return NULL;
}

struct xs_extent *xs_movable_smallest(const struct xs_movable_set *set, size_t min_bytes)
{
    uint32_t sizes = set->sizes & ~((1u << size_index(min_bytes)) - 1);
    for (; sizes; sizes &= sizes - 1) {
        XS_LIST_FOR_EACH(link, &set->extents[__builtin_ctz(sizes)]) {
            struct xs_extent *e = XS_CONTAINER_OF(link, struct xs_extent, link);
            if (e->bytes >= min_bytes)
                return e;
        }
    }
    return NULL;
}

/* Cutting leaves the left piece its record: the extent is in extent->block or to the right of it. */
void xs_movable_take(struct xs_movable_set *set, struct xs_extent *extent)
{
    struct xs_block *block = extent->block;
    while (xs_block_end(block) <= extent->va)
        block = xs_block_next(block);
    extent->block = xs_heap_carve(block->heap, block, extent->va, extent->bytes);
    xs_list_remove(&extent->link);
    set->bytes -= extent->bytes;
}
