#include "core/inside.h"

#include "core/runtime.h"

static struct xs_segment *segment_in(const struct xs_heap *heap, xs_cu_ptr va)
{
    XS_LIST_FOR_EACH(link, &heap->segments) {
        struct xs_segment *segment = XS_CONTAINER_OF(link, struct xs_segment, link);
        if (va - segment->base < segment->bytes)
            return segment;
    }
    return NULL;
}

static struct xs_segment *segment_at(const struct xs_device *dev, xs_cu_ptr va)
{
    XS_LIST_FOR_EACH(link, &dev->pools) {
        const struct xs_pool *pool = xs_pool_of_link(link);
        struct xs_segment *segment = segment_in(&pool->expandable, va);
        for (unsigned i = 0; !segment && i < XS_CLASSIC_COUNT; i++)
            segment = segment_in(&pool->classic[i], va);
        if (segment)
            return segment;
    }
    return NULL;
}

static const struct xs_block *block_at(const struct xs_segment *segment, xs_cu_ptr va)
{
    XS_LIST_FOR_EACH(place, &segment->blocks) {
        const struct xs_block *block = xs_block_of_place(place);
        if (va < xs_block_end(block))
            return block;
    }
    return NULL;
}

static struct xs_inside find_in(struct xs_device *dev, xs_cu_ptr va)
{
    struct xs_inside found = {0};
    xs_lock_acquire(&dev->lock);
    const struct xs_segment *segment = segment_at(dev, va);
    const struct xs_block *block = segment ? block_at(segment, va) : NULL;
    if (segment)
        found.dev = dev;
    if (block && xs_block_state_of(block) == XS_BLOCK_LIVE) {
        found.va = xs_block_va(block);
        found.requested = block->requested;
    }
    xs_lock_release(&dev->lock);
    return found;
}

struct xs_inside xs_inside_find(xs_cu_ptr va)
{
    struct xs_inside found = {0};
    for (int i = 0; i < XS_DEVICE_LIMIT && !found.dev; i++) {
        struct xs_device *dev = xs_runtime_open_device(i);
        if (dev)
            found = find_in(dev, va);
    }
    return found;
}

size_t xs_inside_backing(struct xs_device *dev, xs_cu_ptr va, struct xs_backing *out, size_t max)
{
    size_t n = 0;
    xs_lock_acquire(&dev->lock);
    const struct xs_segment *segment = segment_at(dev, va);
    const struct xs_block *block = segment ? block_at(segment, va) : NULL;
    bool live = block && segment->extent_at && xs_block_state_of(block) == XS_BLOCK_LIVE &&
                xs_block_va(block) == va;
    for (xs_cu_ptr at = va; live && at < xs_block_end(block); n++) {
        const struct xs_extent *e = xs_segment_extent_at(segment, at);
        if (n < max)
            out[n] = (struct xs_backing){e->mem, e->va, e->bytes};
        at = e->va + e->bytes;
    }
    xs_lock_release(&dev->lock);
    return n;
}
