#include "core/pool.h"

#include <string.h>

#include "base/error.h"
#include "base/thread.h"
#include "core/device.h"
#include "core/route.h"
#include "xseg/pools.h"

_Static_assert(XS_DEVICE_LIMIT == 64, "ordinals fit into a name");

/* ---- making --------------------------------------------------------------------------------- */

static bool init_heap(struct xs_pool *pool, struct xs_heap *heap, struct xs_device *dev)
{
    bool ok = xs_heap_init(heap, &dev->records);
    heap->owner = dev;
    heap->pool = pool->index;
    heap->pool_number = pool->number;
    heap->whole = pool->no_split;
    return ok;
}

bool xs_pool_init(struct xs_pool *pool, struct xs_device *dev)
{
    bool ok = init_heap(pool, &pool->expandable, dev);
    for (unsigned i = 0; i < XS_CLASSIC_COUNT; i++)
        ok &= init_heap(pool, &pool->classic[i], dev);
    return ok;
}

void xs_pool_end(struct xs_pool *pool)
{
    xs_heap_destroy(&pool->expandable);
    for (unsigned i = 0; i < XS_CLASSIC_COUNT; i++)
        xs_heap_destroy(&pool->classic[i]);
}

/* The list is in order of indexes; the first one that is missing. *before: where it belongs. */
static uint32_t free_index(struct xs_device *dev, struct xs_list **before)
{
    uint32_t index = 0;
    *before = &dev->pools;
    XS_LIST_FOR_EACH(link, &dev->pools) {
        *before = link;
        if (xs_pool_of_link(link)->index != index)
            return index;
        index++;
    }
    *before = &dev->pools;
    return index;
}

static enum xseg_result create_locked(struct xs_device *dev, unsigned flags, uint64_t *id)
{
    struct xs_list *before;
    uint32_t index = free_index(dev, &before);
    if (index == XS_POOL_LIMIT)
        return xs_fail(XSEG_ERROR_NOT_SUPPORTED, "more than %d pools on one device",
                       XS_POOL_LIMIT - 1);
    struct xs_pool *pool = xs_slab_get(&dev->pool_records);
    if (!pool)
        return xs_fail(XSEG_ERROR_HOST_MEMORY, "no host memory for a pool's record");
    pool->index = index;
    pool->number = ++dev->pools_made;
    pool->held = true;
    pool->use_on_oom = flags & XSEG_POOL_USE_ON_OOM;
    pool->no_split = flags & XSEG_POOL_NO_SPLIT;
    if (!xs_pool_init(pool, dev)) {
        xs_pool_end(pool);
        xs_slab_put(&dev->pool_records, pool);
        return xs_fail(XSEG_ERROR_HOST_MEMORY, "no host memory for a pool's heaps");
    }
    pool->id = xs_pool_name(pool->number, dev->caps.ordinal);
    xs_list_insert_before(before, &pool->link);
    *id = pool->id;
    return XSEG_OK;
}

enum xseg_result xs_pool_create(struct xs_device *dev, unsigned flags, uint64_t *id)
{
    xs_pools_collect(dev);
    xs_lock_acquire(&dev->lock);
    enum xseg_result e = create_locked(dev, flags, id);
    xs_lock_release(&dev->lock);
    return e;
}

enum xseg_result xs_pool_lock(struct xs_device *dev, uint64_t id, struct xs_pool **pool)
{
    xs_lock_acquire(&dev->lock);
    XS_LIST_FOR_EACH(link, &dev->pools) {
        *pool = xs_pool_of_link(link);
        if (id && (*pool)->id == id)
            return XSEG_OK;
    }
    xs_lock_release(&dev->lock);
    return xs_fail(XSEG_ERROR_INVALID_VALUE, "pool %llu: there is none of that name",
                   (unsigned long long)id);
}

uint64_t xs_pool_id_of(struct xs_device *dev, const struct xs_block *block)
{
    xs_lock_acquire(&dev->lock);
    uint64_t id = 0;
    XS_LIST_FOR_EACH(link, &dev->pools)
        if (xs_pool_of_link(link)->index == block->heap->pool)
            id = xs_pool_of_link(link)->id;
    xs_lock_release(&dev->lock);
    return id;
}

/* ---- ending --------------------------------------------------------------------------------- */

void xs_pool_disown(struct xs_device *dev, struct xs_pool *pool)
{
    xs_assert_held(&dev->lock);
    xs_routes_close_pool(dev, pool);
    pool->held = false;
    pool->id = 0;
}

static bool is_over(const struct xs_pool *pool)
{
    if (!xs_pool_is_dead(pool))
        return false;
    for (unsigned i = 0; i < XS_CLASSIC_COUNT; i++)
        if (!xs_list_is_empty(&pool->classic[i].segments))
            return false;
    return xs_list_is_empty(&pool->expandable.segments);
}

void xs_pools_collect(struct xs_device *dev)
{
    xs_lock_acquire(&dev->lock);
    XS_LIST_FOR_EACH_SAFE(link, &dev->pools) {
        struct xs_pool *pool = xs_pool_of_link(link);
        if (!is_over(pool))
            continue;
        xs_list_remove(link);
        xs_pool_end(pool);
        xs_slab_put(&dev->pool_records, pool);
    }
    xs_lock_release(&dev->lock);
}

struct xs_pool *xs_pool_next(struct xs_device *dev, struct xs_pool *pool,
                             bool (*of)(const struct xs_pool *pool))
{
    xs_lock_acquire(&dev->lock);
    struct xs_list *link = pool ? pool->link.next : dev->pools.next;
    while (link != &dev->pools && !of(xs_pool_of_link(link)))
        link = link->next;
    struct xs_pool *next = link == &dev->pools ? NULL : xs_pool_of_link(link);
    if (pool)
        pool->users--;
    if (next)
        next->users++;
    xs_lock_release(&dev->lock);
    return next;
}

void xs_pool_let_go(struct xs_device *dev, struct xs_pool *pool)
{
    xs_lock_acquire(&dev->lock);
    pool->users--;
    xs_lock_release(&dev->lock);
}

/* ---- statistics ----------------------------------------------------------------------------- */

static void read_block(const struct xs_block *block, struct xseg_pool_stats *out)
{
    size_t bytes = xs_block_bytes(block);
    switch (xs_block_state_of(block)) {
    case XS_BLOCK_HOLE:
    case XS_BLOCK_STALE: /* what is mapped there counts where it is used */
        return;
    case XS_BLOCK_LIVE:
        out->requested_bytes += block->requested;
        out->allocated_bytes += bytes;
        out->allocations++;
        /* fallthrough */
    case XS_BLOCK_WAITING:
        out->active_bytes += bytes;
        /* fallthrough */
    default:
        out->reserved_bytes += bytes;
    }
}

static void read_heap(const struct xs_heap *heap, struct xseg_pool_stats *out)
{
    XS_LIST_FOR_EACH(link, &heap->segments) {
        struct xs_segment *segment = XS_CONTAINER_OF(link, struct xs_segment, link);
        out->segments++;
        XS_LIST_FOR_EACH(place, &segment->blocks)
            read_block(xs_block_of_place(place), out);
    }
}

void xs_pool_read_stats(struct xs_pool *pool, struct xseg_pool_stats *out)
{
    read_heap(&pool->expandable, out);
    for (unsigned i = 0; i < XS_CLASSIC_COUNT; i++)
        read_heap(&pool->classic[i], out);
    xs_pool_look(pool);
    out->requested_peak = xs_max(pool->peaks.requested, out->requested_bytes);
    out->allocated_peak = pool->peaks.allocated;
    out->reserved_peak = pool->peaks.reserved;
}

/* ---- peaks ---------------------------------------------------------------------------------- */

static size_t requested_in(const struct xs_heap *heap)
{
    size_t bytes = 0;
    XS_LIST_FOR_EACH(link, &heap->segments) {
        struct xs_segment *segment = XS_CONTAINER_OF(link, struct xs_segment, link);
        XS_LIST_FOR_EACH(place, &segment->blocks) {
            const struct xs_block *block = xs_block_of_place(place);
            enum xs_block_state state = xs_block_state_of(block);
            bool is_out =
                state == XS_BLOCK_LIVE || state == XS_BLOCK_CACHED || state == XS_BLOCK_WAITING;
            bytes += is_out ? block->requested : 0;
        }
    }
    return bytes;
}

static void look_at_requested(struct xs_pool *pool, size_t out)
{
    size_t requested = requested_in(&pool->expandable);
    for (unsigned i = 0; i < XS_CLASSIC_COUNT; i++)
        requested += requested_in(&pool->classic[i]);
    pool->peaks.requested = xs_max(pool->peaks.requested, requested);
    pool->peaks.look_above = out + xs_max(out / 64, XS_MIB);
}

void xs_pool_look(struct xs_pool *pool)
{
    size_t mapped = pool->expandable.mapped_bytes;
    size_t out = mapped - pool->expandable.free_bytes;
    for (unsigned i = 0; i < XS_CLASSIC_COUNT; i++) {
        mapped += pool->classic[i].mapped_bytes;
        out += pool->classic[i].mapped_bytes - pool->classic[i].free_bytes;
    }
    pool->peaks.reserved = xs_max(pool->peaks.reserved, mapped);
    pool->peaks.allocated = xs_max(pool->peaks.allocated, out);
    if (out > pool->peaks.look_above)
        look_at_requested(pool, out);
}

void xs_pool_reset_peaks(struct xs_pool *pool)
{
    pool->peaks = (struct xs_pool_peaks){0};
    xs_pool_look(pool);
}
