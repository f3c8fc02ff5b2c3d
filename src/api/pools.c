/* The public C API of private pools: checks arguments and calls down, nothing else. */
#include "xseg/pools.h"

#include <string.h>

#include "base/error.h"
#include "core/alloc.h"
#include "core/caches.h"
#include "core/pool.h"
#include "core/route.h"
#include "core/runtime.h"
#include "stats/stats.h"

/* The device of a pool, which is open as long as any name of a pool is worth something. */
static enum xseg_result device_of(xseg_pool pool, struct xs_device **dev)
{
    if (xs_runtime_is_over())
        return xs_fail(XSEG_ERROR_SHUTDOWN, "the memory belongs to the parent process");
    *dev = xs_runtime_open_device(xs_pool_device(pool));
    return *dev ? XSEG_OK
                : xs_fail(XSEG_ERROR_INVALID_VALUE, "pool %llu: there is none of that name",
                          (unsigned long long)pool);
}

/* The same with HEAP taken, which is held on success and not on an error. */
static enum xseg_result lock_pool(xseg_pool id, struct xs_device **dev, struct xs_pool **pool)
{
    enum xseg_result e = device_of(id, dev);
    return e ? e : xs_pool_lock(*dev, id, pool);
}

enum xseg_result xseg_pool_create(int device, unsigned flags, xseg_pool *pool)
{
    if (!pool || flags & ~(unsigned)(XSEG_POOL_USE_ON_OOM | XSEG_POOL_NO_SPLIT))
        return xs_fail(XSEG_ERROR_INVALID_VALUE, "xseg_pool_create: pool is %p, flags are 0x%x",
                       (void *)pool, flags);
    struct xs_device *dev;
    enum xseg_result e = xs_runtime_device(device, &dev);
    return e ? e : xs_pool_create(dev, flags, pool);
}

enum xseg_result xseg_pool_malloc(void **ptr, size_t bytes, xseg_pool pool, xseg_stream stream)
{
    if (!ptr)
        return xs_fail(XSEG_ERROR_INVALID_VALUE, "xseg_pool_malloc: ptr is NULL");
    struct xs_device *dev;
    enum xseg_result e = device_of(pool, &dev);
    if (e)
        return e;
    if (bytes)
        return xs_alloc_from_pool(dev, pool, bytes, stream, ptr);
    *ptr = NULL;
    return XSEG_OK;
}

/* ---- use ------------------------------------------------------------------------------------ */

typedef enum xseg_result (*route_change)(struct xs_device *dev, struct xs_pool *pool,
                                         struct xs_stream *stream);

static enum xseg_result change_for_thread(xseg_pool id, route_change change)
{
    struct xs_device *dev;
    struct xs_pool *pool;
    enum xseg_result e = device_of(id, &dev);
    if (e)
        return e;
    struct xs_cache *own =
        xs_caches_current(dev); /* it ends with the thread, and the route with it */
    if (!own)
        return xs_fail(XSEG_ERROR_HOST_MEMORY, "no host memory for a thread's record");
    e = xs_pool_lock(dev, id, &pool);
    if (e)
        return e;
    e = change(dev, pool, NULL);
    xs_lock_release(&dev->lock);
    xs_caches_forget_own_streams(own);
    return e;
}

enum xseg_result xseg_pool_begin(xseg_pool pool)
{
    return change_for_thread(pool, xs_route_open);
}

enum xseg_result xseg_pool_end(xseg_pool pool)
{
    return change_for_thread(pool, xs_route_close);
}

static enum xseg_result change_for_stream(xseg_pool id, xseg_stream handle, route_change change)
{
    struct xs_device *dev;
    struct xs_pool *pool;
    struct xs_stream *stream;
    enum xseg_result e = device_of(id, &dev);
    if (!e)
        e = xs_caches_lock_stream(dev, handle, &stream);
    if (e)
        return e;
    stream->refs++;
    xs_lock_release(&dev->lock);
    e = xs_pool_lock(dev, id, &pool);
    if (!e)
        e = change(dev, pool, stream);
    else
        xs_lock_acquire(&dev->lock);
    stream->refs--;
    xs_lock_release(&dev->lock);
    xs_caches_forget_streams(dev);
    return e;
}

enum xseg_result xseg_pool_begin_stream(xseg_pool pool, xseg_stream stream)
{
    return change_for_stream(pool, stream, xs_route_open);
}

enum xseg_result xseg_pool_end_stream(xseg_pool pool, xseg_stream stream)
{
    return change_for_stream(pool, stream, xs_route_close);
}

/* ---- ends ----------------------------------------------------------------------------------- */

enum xseg_result xseg_pool_release(xseg_pool id)
{
    struct xs_device *dev;
    struct xs_pool *pool;
    enum xseg_result e = lock_pool(id, &dev, &pool);
    if (e)
        return e;
    pool->held = false;
    xs_lock_release(&dev->lock);
    return XSEG_OK;
}

enum xseg_result xseg_pool_destroy(xseg_pool id)
{
    struct xs_device *dev;
    struct xs_pool *pool;
    enum xseg_result e = lock_pool(id, &dev, &pool);
    if (e)
        return e;
    xs_pool_disown(dev, pool);
    xs_lock_release(&dev->lock);
    xs_caches_forget_streams(dev); /* threads were routed to it */
    xs_pools_collect(dev);
    return XSEG_OK;
}

/* ---- questions ------------------------------------------------------------------------------ */

enum xseg_result xseg_pool_of(const void *ptr, xseg_pool *pool)
{
    if (!pool)
        return xs_fail(XSEG_ERROR_INVALID_VALUE, "xseg_pool_of: pool is NULL");
    const struct xs_block *block = ptr ? xs_runtime_find(ptr) : NULL;
    if (!block || xs_block_state_of(block) != XS_BLOCK_LIVE)
        return xs_fail(XSEG_ERROR_UNKNOWN_POINTER,
                       "xseg_pool_of: %p is not the start of a live allocation of xseg", ptr);
    *pool = xs_pool_id_of(block->heap->owner, block);
    return XSEG_OK;
}

enum xseg_result xseg_pool_get_stats(xseg_pool id, struct xseg_pool_stats *stats)
{
    if (!stats || stats->size < offsetof(struct xseg_pool_stats, requested_bytes))
        return xs_fail(XSEG_ERROR_INVALID_VALUE, "xseg_pool_get_stats: stats->size is not set");
    struct xs_device *dev;
    struct xs_pool *pool;
    enum xseg_result e = lock_pool(id, &dev, &pool);
    if (e)
        return e;
    struct xseg_pool_stats full = {.device = dev->caps.ordinal, .held = pool->held};
    full.flags =
        (pool->use_on_oom ? XSEG_POOL_USE_ON_OOM : 0u) | (pool->no_split ? XSEG_POOL_NO_SPLIT : 0u);
    xs_pool_read_stats(pool, &full);
    xs_lock_release(&dev->lock);
    size_t size = stats->size;
    memcpy(stats, &full, xs_min(size, sizeof(full)));
    stats->size = size;
    return XSEG_OK;
}
