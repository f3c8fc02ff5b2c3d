#include "core/caches.h"

#include "base/clock.h"
#include "cache/depot.h"
#include "core/account.h"
#include "core/route.h"
#include "core/runtime.h"

/* ---- the calling thread's ------------------------------------------------------------------- */

static bool is_enabled(const struct xs_device *dev)
{
    if (dev->policy.backend != XS_BACKEND_NATIVE || dev->policy.poison)
        return false;
    bool expandable = dev->policy.expandable_segments && !dev->no_vmm;
    return dev->policy.cache == XS_CACHE_ON || (dev->policy.cache == XS_CACHE_AUTO && expandable);
}

/* Whether there are several from now on. What has been counted is merged by the rule that held until now. */
static void count_caches(struct xs_device *dev, struct xs_cache *own, bool many)
{
    if (many == atomic_load_explicit(&dev->cache_shared.many, memory_order_relaxed))
        return;
    xs_account_merge_all(dev, own);
    atomic_store_explicit(&dev->cache_shared.many, many, memory_order_relaxed);
    xs_caches_forget_streams(dev);
}

static struct xs_cache *make_cache(struct xs_device *dev, struct xs_thread *t)
{
    struct xs_cache *c = xs_cache_new(&dev->cache_shared, dev);
    if (!c)
        return NULL;
    xs_lock_acquire(&dev->caches_lock);
    xs_lock_acquire(&dev->lock);
    count_caches(dev, NULL, !xs_list_is_empty(&dev->caches));
    xs_list_push_back(&dev->caches, &c->link);
    xs_lock_release(&dev->lock);
    xs_lock_release(&dev->caches_lock);
    c->slot = &t->cache[dev->caps.ordinal];
    *c->slot = c;
    return c;
}

/* The policy has changed, or what handles stand for: what is cached may not be wanted any more. */
static void refresh(struct xs_device *dev, struct xs_cache *c)
{
    struct xs_cached_list blocks = {0};
    struct xs_cache_counts counts;
    xs_lock_acquire(&dev->lock);
    xs_cache_take_all(c, true, &blocks, &counts);
    xs_account_merge(dev, &counts);
    xs_caches_return_locked(dev, &blocks);
    xs_cache_refresh(c, &dev->policy, is_enabled(dev));
    if (c->ring)
        xs_history_leave(&dev->history, c->ring);
    c->ring = xs_history_join(&dev->history);
    xs_lock_release(&dev->lock);
}

struct xs_cache *xs_caches_make_current(struct xs_device *dev)
{
    struct xs_thread *t = xs_thread_self();
    if (!t)
        return NULL;
    struct xs_cache *c = t->cache[dev->caps.ordinal];
    if (!c)
        c = make_cache(dev, t);
    if (c && !xs_cache_is_current(c))
        refresh(dev, c);
    if (c)
        c->origin = (struct xs_origin){t->tag, xs_clock_coarse_ms()};
    return c;
}

enum xseg_result xs_caches_get_stream(struct xs_device *dev, const struct xs_stream_key *key,
                                      struct xs_stream **stream)
{
    xs_assert_held(&dev->lock);
    uint64_t gathered = dev->streams.gathered;
    enum xseg_result e = xs_streams_get(&dev->streams, key, stream);
    if (gathered != dev->streams.gathered)
        xs_caches_forget_streams(dev); /* some thread may know a record of another stream's */
    return e;
}

enum xseg_result xs_caches_lock_stream(struct xs_device *dev, xs_cu_stream handle,
                                       struct xs_stream **stream)
{
    struct xs_stream_key key;
    enum xseg_result e = xs_stream_identify(handle, &key);
    if (e)
        return e;
    xs_lock_acquire(&dev->lock);
    e = xs_caches_get_stream(dev, &key, stream);
    if (e)
        xs_lock_release(&dev->lock);
    return e;
}

void xs_caches_know_stream(struct xs_device *dev, struct xs_cache *c, xs_cu_stream handle,
                           struct xs_stream *stream)
{
    xs_assert_held(&dev->lock);
    *xs_cache_stream_slot(c, handle) = (struct xs_cache_stream){
        .handle = handle,
        .stream = stream,
        .id = xs_stream_is_trusted(stream) ? XS_CACHE_TRUSTED : stream->key.id,
        .lane = xs_cache_lane(xs_route_find(dev, stream)->index, stream->index),
    };
}

enum xseg_result xs_caches_trust_stream(struct xs_device *dev, xs_cu_stream handle, bool trusted)
{
    struct xs_stream *stream;
    enum xseg_result e = xs_caches_lock_stream(dev, handle, &stream);
    if (e)
        return e;
    stream->trusted = trusted;
    xs_streams_mark_capturing(&dev->streams, stream, false); /* it is asked, or about to go */
    xs_lock_release(&dev->lock);
    xs_caches_forget_streams(dev);
    return XSEG_OK;
}

void xs_caches_forget_own_streams(struct xs_cache *c)
{
    for (unsigned i = 0; i < XS_CACHE_STREAMS; i++)
        c->stream[i].handle = XS_CACHE_NO_STREAM;
}

void xs_caches_forget_streams(struct xs_device *dev)
{
    atomic_fetch_add(&dev->cache_shared.generation, 1);
}

/* ---- between caches, depot and heap --------------------------------------------------------- */

static void return_block(struct xs_device *dev, struct xs_block *block)
{
    xs_addr_map_remove(&dev->addresses, &block->addr);
    xs_account_came_back(dev, xs_block_bytes(block));
    if (block->stamp > block->stream->last_stamp)
        block->stream->last_stamp = block->stamp;
    xs_heap_put(block->heap, block, block->stream, block->stamp);
}

void xs_caches_return_locked(struct xs_device *dev, struct xs_cached_list *blocks)
{
    xs_assert_held(&dev->lock);
    while (blocks->head) {
        struct xs_block *block = blocks->head;
        blocks->head = block->next_cached;
        return_block(dev, block);
    }
    blocks->count = 0;
}

void xs_caches_return(struct xs_device *dev, struct xs_cached_list *blocks)
{
    if (!blocks->head)
        return;
    xs_lock_acquire(&dev->lock);
    xs_caches_return_locked(dev, blocks);
    xs_lock_release(&dev->lock);
}

void xs_caches_make_room(struct xs_device *dev, struct xs_cache *c, uint64_t key)
{
    struct xs_cached_list blocks = {0};
    bool made = !xs_cache_bin_of(c, key);
    if (made)
        xs_cache_make_bin(c, key, &blocks);
    else
        xs_cache_take_half(c, key, &blocks);
    if (!made && blocks.head)
        xs_depot_give(dev->depot, key, &blocks, c->bytes_limit);
    xs_caches_return(dev, &blocks);
}

bool xs_caches_restock(struct xs_device *dev, struct xs_cache *c, uint64_t key)
{
    struct xs_cached_list batch;
    if (!xs_depot_take(dev->depot, key, &batch))
        return false;
    struct xs_cached_list out = {0};
    xs_cache_make_bin(c, key, &out);
    xs_cache_fill(c, key, &batch, &out);
    xs_caches_return_locked(dev, &out);
    return true;
}

void xs_caches_return_large(struct xs_device *dev, struct xs_cache *c)
{
    struct xs_cached_list blocks = {0};
    xs_cache_take_large(c, &blocks);
    xs_caches_return_locked(dev, &blocks);
}

/* CACHES is held until the counts are merged, so that no reading misses them. */
bool xs_caches_flush(struct xs_device *dev)
{
    struct xs_cached_list blocks = {0};
    const struct xs_cache *own = xs_caches_own(dev);
    xs_lock_acquire(&dev->caches_lock);
    XS_LIST_FOR_EACH(link, &dev->caches) {
        struct xs_cache *c = XS_CONTAINER_OF(link, struct xs_cache, link);
        struct xs_cache_counts counts;
        xs_cache_take_all(c, c == own, &blocks, &counts);
        xs_lock_acquire(&dev->lock);
        xs_account_merge(dev, &counts);
        xs_lock_release(&dev->lock);
    }
    xs_depot_take_all(dev->depot, &blocks);
    bool any = blocks.head != NULL;
    xs_caches_return(dev, &blocks);
    xs_lock_release(&dev->caches_lock);
    return any;
}

/* ---- ends ----------------------------------------------------------------------------------- */

static void end_cache(struct xs_device *dev, struct xs_cache *c, bool own)
{
    struct xs_cached_list blocks = {0};
    struct xs_cache_counts counts;
    xs_lock_acquire(&dev->caches_lock);
    xs_cache_take_all(c, own, &blocks, &counts);
    xs_lock_acquire(&dev->lock);
    xs_account_merge(dev, &counts);
    xs_caches_return_locked(dev, &blocks);
    xs_list_remove(&c->link);
    count_caches(dev, own ? NULL : xs_caches_own(dev), dev->caches.next != dev->caches.prev);
    if (c->ring)
        xs_history_leave(&dev->history, c->ring);
    xs_lock_release(&dev->lock);
    xs_lock_release(&dev->caches_lock);
    *c->slot = NULL;
    xs_cache_delete(c);
}

void xs_caches_end(struct xs_device *dev)
{
    const struct xs_cache *own = xs_caches_own(dev);
    while (!xs_list_is_empty(&dev->caches)) {
        struct xs_cache *c = XS_CONTAINER_OF(dev->caches.next, struct xs_cache, link);
        end_cache(dev, c, c == own);
    }
}

void xs_caches_thread_exit(struct xs_thread *t)
{
    for (int i = 0; i < XS_DEVICE_LIMIT; i++) {
        struct xs_device *dev = t->cache[i] ? xs_runtime_open_device(i) : NULL;
        if (!dev)
            continue;
        xs_routes_close_thread(dev, t->id);
        end_cache(dev, t->cache[i], true);
    }
}
