#include "core/trim.h"

#include "base/error.h"
#include "core/account.h"
#include "core/classic.h"
#include "core/movable.h"
#include "core/stale.h"
#include "core/track.h"
#include "driver/driver.h"

/* ---- extents -------------------------------------------------------------------------------- */

/* The next extent to go, out of its block or of the idle ones. Under HEAP. */
static struct xs_extent *take_next(struct xs_device *dev, struct xs_movable *movable, bool *mapped)
{
    struct xs_extent *e = xs_extent_largest_idle(&dev->extents, SIZE_MAX);
    *mapped = !e;
    if (e) {
        xs_extent_take_idle(&dev->extents, e);
        return e;
    }
    e = xs_movable_largest(&movable->passed, SIZE_MAX);
    if (!e || !xs_heap_reserve(&dev->main.expandable, 2))
        return NULL;
    xs_movable_take(&movable->passed, e);
    return e;
}

/* Under HEAP: the driver has unmapped it. */
static void forget_place(struct xs_extent *e)
{
    xs_track_extent(e->block->heap, XS_EVENT_UNMAP, e);
    xs_segment_detach(e->block->segment, e);
    xs_heap_put_hole(e->block->heap, e->block);
}

/* One extent back to the driver. Refused: it is where it was, or idle. */
static enum xseg_result release_extent(struct xs_device *dev, struct xs_extent *e, bool mapped)
{
    xs_cu_result unmap = mapped ? xs_segment_unmap(e->va, e->bytes) : XS_CUDA_SUCCESS;
    xs_cu_result code = unmap ? unmap : xs_cu_mem_release(e->mem);
    xs_lock_acquire(&dev->lock);
    if (unmap) {
        xs_heap_put(e->block->heap, e->block, e->block->stream, e->block->stamp);
    } else {
        if (mapped)
            forget_place(e);
        if (code) {
            xs_extent_put_idle(&dev->extents, e);
        } else {
            xs_account_release(dev, e->bytes);
            xs_gauge_sub(&dev->stats.now.extents, 1);
            xs_extent_delete(&dev->extents, e);
        }
    }
    xs_lock_release(&dev->lock);
    return xs_driver_result(code);
}

/* The blocks that extents are found in may change whenever HEAP is let go, so each batch is taken under
 * one hold of it, and found anew. */
#define BATCH 64

struct batch {
    struct xs_extent *extent[BATCH];
    bool mapped[BATCH];
    size_t count;
};

static void take_batch(struct xs_device *dev, size_t keep, struct batch *batch)
{
    struct xs_movable movable;
    xs_lock_acquire(&dev->lock);
    size_t reserved = dev->stats.now.reserved_bytes.current;
    xs_movable_init(&movable);
    xs_movable_gather(&movable, dev, NULL);
    for (batch->count = 0; batch->count < BATCH && reserved > keep; batch->count++) {
        struct xs_extent *e = take_next(dev, &movable, &batch->mapped[batch->count]);
        if (!e)
            break;
        batch->extent[batch->count] = e;
        reserved -= e->bytes;
    }
    xs_movable_end(&movable);
    xs_lock_release(&dev->lock);
}

/* Under HEAP: an extent that was taken and shall not go after all. */
static void put_back(struct xs_device *dev, struct xs_extent *e, bool mapped)
{
    if (mapped)
        xs_heap_put(e->block->heap, e->block, e->block->stream, e->block->stamp);
    else
        xs_extent_put_idle(&dev->extents, e);
}

static enum xseg_result release_batch(struct xs_device *dev, struct batch *batch)
{
    enum xseg_result e = XSEG_OK;
    size_t i = 0;
    for (; i < batch->count && !e; i++)
        e = release_extent(dev, batch->extent[i], batch->mapped[i]);
    xs_lock_acquire(&dev->lock);
    for (; i < batch->count; i++)
        put_back(dev, batch->extent[i], batch->mapped[i]);
    xs_lock_release(&dev->lock);
    return e;
}

static enum xseg_result trim_extents(struct xs_device *dev, size_t keep)
{
    struct batch batch;
    xs_stale_sweep(dev);
    do {
        take_batch(dev, keep, &batch);
        enum xseg_result e = release_batch(dev, &batch);
        if (e)
            return e;
    } while (batch.count == BATCH);
    return XSEG_OK;
}

/* ---- address ranges ------------------------------------------------------------------------- */

static struct xs_segment *take_empty_segment_of(struct xs_device *dev, struct xs_heap *heap)
{
    XS_LIST_FOR_EACH(link, &heap->segments) {
        struct xs_segment *segment = XS_CONTAINER_OF(link, struct xs_segment, link);
        struct xs_block *block = xs_block_of_place(segment->blocks.next);
        if (xs_block_state_of(block) != XS_BLOCK_HOLE || !xs_block_is_whole_segment(block))
            continue;
        xs_heap_remove_segment(heap, block);
        xs_gauge_sub(&dev->stats.now.segments, 1);
        dev->stats.now.address_bytes -= segment->bytes;
        return segment;
    }
    return NULL;
}

static struct xs_segment *take_empty_segment(struct xs_device *dev,
                                             bool (*of)(const struct xs_pool *pool))
{
    struct xs_segment *segment = NULL;
    XS_LIST_FOR_EACH(link, &dev->pools)
        if (!segment && of(xs_pool_of_link(link)))
            segment = take_empty_segment_of(dev, &xs_pool_of_link(link)->expandable);
    return segment;
}

static void trim_segments(struct xs_device *dev, bool (*of)(const struct xs_pool *pool))
{
    struct xs_segment *segment;
    do {
        xs_lock_acquire(&dev->lock);
        segment = take_empty_segment(dev, of);
        xs_lock_release(&dev->lock);
        if (segment)
            xs_segment_unreserve(segment);
    } while (segment);
    xs_pools_collect(dev);
}

void xs_trim_dead_pools(struct xs_device *dev)
{
    trim_segments(dev, xs_pool_is_dead);
}

/* ---- the whole ------------------------------------------------------------------------------ */

static enum xseg_result trim_in_context(struct xs_device *dev, size_t keep)
{
    /* An extent may lie in two streams' blocks: joined, they hold it whole. */
    enum xseg_result e = xs_device_settle_in_context(dev);
    if (e)
        return e;
    e = trim_extents(dev, keep);
    if (!e)
        e = xs_classic_release(dev, keep);
    if (!e && keep == 0)
        trim_segments(dev, xs_pool_is_released);
    return e;
}

static bool is_untouched(struct xs_device *dev, size_t keep)
{
    xs_lock_acquire(&dev->lock);
    bool nothing =
        dev->stats.now.reserved_bytes.current <= keep && (keep || !dev->stats.now.address_bytes);
    xs_lock_release(&dev->lock);
    return nothing;
}

/* A program that gives its memory back starts anew. */
static void forget_the_most(struct xs_device *dev)
{
    xs_lock_acquire(&dev->lock);
    dev->most_out = dev->out_bytes;
    dev->waived_bytes = 0;
    xs_lock_release(&dev->lock);
}

enum xseg_result xs_trim(struct xs_device *dev, size_t keep)
{
    if (is_untouched(dev, keep))
        return XSEG_OK; /* no context is created, no event recorded */
    struct xs_context_scope scope;
    xs_lock_acquire(&dev->growth);
    enum xseg_result e = xs_context_enter(&dev->context, &scope);
    if (!e) {
        e = trim_in_context(dev, keep);
        forget_the_most(dev);
        xs_context_leave(&scope);
    }
    xs_lock_release(&dev->growth);
    return e;
}

enum xseg_result xs_trim_for_request(struct xs_device *dev, bool expandable)
{
    enum xseg_result e = xs_classic_release(dev, 0);
    return e || expandable ? e : trim_extents(dev, 0);
}
