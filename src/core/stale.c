#include "core/stale.h"

void xs_stale_put(struct xs_device *dev, struct xs_block *block, struct xs_extent *extent)
{
    xs_assert_held(&dev->lock);
    block->extent = extent;
    extent->stale++;
    xs_block_set_state(block, XS_BLOCK_STALE);
    xs_list_push_back(&dev->stale, &block->link);
}

/* Takes out, as BUSY blocks, those that the GPU has passed. */
static void take_passed(struct xs_device *dev, struct xs_list *passed)
{
    xs_lock_acquire(&dev->lock);
    XS_LIST_FOR_EACH_SAFE(link, &dev->stale) {
        struct xs_block *block = xs_block_of_link(link);
        if (!xs_block_has_passed(block, &dev->fences))
            continue;
        xs_list_remove(link);
        xs_list_push_back(passed, link);
        xs_block_set_state(block, XS_BLOCK_BUSY);
    }
    xs_lock_release(&dev->lock);
}

/* Under HEAP. */
static void leave(struct xs_block *block)
{
    xs_list_remove(&block->link);
    block->extent->stale--;
    block->extent = NULL;
    xs_heap_put_hole(block->heap, block);
}

/* Under HEAP: the driver has refused. */
static void put_back(struct xs_device *dev, struct xs_block *block)
{
    xs_list_remove(&block->link);
    xs_block_set_state(block, XS_BLOCK_STALE);
    xs_list_push_back(&dev->stale, &block->link);
}

void xs_stale_sweep(struct xs_device *dev)
{
    struct xs_list passed, unmapped;
    xs_assert_held(&dev->growth);
    xs_list_init(&passed);
    xs_list_init(&unmapped);
    take_passed(dev, &passed);
    XS_LIST_FOR_EACH_SAFE(link, &passed) {
        struct xs_block *block = xs_block_of_link(link);
        if (xs_segment_unmap(xs_block_va(block), xs_block_bytes(block)))
            continue;
        xs_list_remove(link);
        xs_list_push_back(&unmapped, link);
    }
    xs_lock_acquire(&dev->lock);
    XS_LIST_FOR_EACH_SAFE(link, &unmapped)
        leave(xs_block_of_link(link));
    XS_LIST_FOR_EACH_SAFE(link, &passed)
        put_back(dev, xs_block_of_link(link));
    xs_lock_release(&dev->lock);
}
