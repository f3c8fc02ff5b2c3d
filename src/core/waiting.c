#include "core/waiting.h"

#include "core/account.h"
#include "core/track.h"

bool xs_waiting_add_use(struct xs_device *dev, struct xs_block *block, struct xs_stream *stream)
{
    if (stream == block->stream)
        return true;
    if (block->heap == &dev->main.classic[XS_CLASSIC_UNCACHED])
        return true; /* the driver's free waits for all streams, and the block is kept for nobody */
    for (const struct xs_use *use = block->uses; use; use = use->next)
        if (use->stream == stream)
            return true;
    struct xs_use *use = xs_slab_get(&dev->uses);
    if (!use)
        return false;
    use->stream = stream;
    use->next = block->uses;
    stream->refs++;
    block->uses = use;
    block->cacheable = false;
    return true;
}

void xs_waiting_put(struct xs_device *dev, struct xs_block *block)
{
    block->stamp = xs_fence_stamp(&dev->fences);
    block->stream->last_stamp = block->stamp;
    for (struct xs_use *use = block->uses; use; use = use->next) {
        use->stamp = block->stamp;
        use->stream->last_stamp = block->stamp;
    }
    xs_block_set_state(block, XS_BLOCK_WAITING);
    xs_list_push_back(&dev->waiting, &block->link);
}

static void forget_uses(struct xs_device *dev, struct xs_block *block)
{
    while (block->uses) {
        struct xs_use *use = block->uses;
        block->uses = use->next;
        use->stream->refs--;
        xs_slab_put(&dev->uses, use);
    }
}

static void settle(struct xs_device *dev, struct xs_block *block, struct xs_stream *stream,
                   uint64_t stamp)
{
    xs_list_remove(&block->link);
    xs_track(dev, NULL, XS_EVENT_FREE_COMPLETED, block);
    forget_uses(dev, block);
    xs_account_came_back(dev, xs_block_bytes(block));
    xs_account_settled(dev, xs_block_bytes(block));
    xs_heap_put(block->heap, block, stream, stamp);
}

static bool all_passed(const struct xs_device *dev, const struct xs_block *block)
{
    for (const struct xs_use *use = block->uses; use; use = use->next)
        if (!xs_fence_passed(&dev->fences, use->stream, use->stamp))
            return false;
    return true;
}

bool xs_waiting_settle(struct xs_device *dev)
{
    bool any = false;
    XS_LIST_FOR_EACH_SAFE(link, &dev->waiting) {
        struct xs_block *block = xs_block_of_link(link);
        if (!all_passed(dev, block))
            continue;
        settle(dev, block, block->stream, block->stamp);
        any = true;
    }
    return any;
}

bool xs_waiting_adopt(struct xs_device *dev, struct xs_stream *stream, uint64_t epoch)
{
    bool any = false;
    uint64_t stamp = xs_fence_stamp(&dev->fences);
    XS_LIST_FOR_EACH_SAFE(link, &dev->waiting) {
        struct xs_block *block = xs_block_of_link(link);
        if (block->stamp > epoch)
            continue;
        settle(dev, block, stream, stamp);
        any = true;
    }
    return any;
}
