#include "core/alloc.h"

#include "base/error.h"
#include "cache/depot.h"
#include "core/account.h"
#include "core/classic.h"
#include "core/ladder.h"
#include "core/route.h"
#include "core/track.h"
#include "core/waiting.h"
#include "policy/size_class.h"

bool xs_alloc_is_expandable(const struct xs_device *dev)
{
    return dev->policy.expandable_segments && !dev->no_vmm &&
           dev->policy.backend == XS_BACKEND_NATIVE;
}

/* ---- handing out ---------------------------------------------------------------------------- */

void xs_alloc_hand_out(const struct xs_request *request, struct xs_block *block)
{
    struct xs_device *dev = request->dev;
    size_t bytes = xs_block_bytes(block);
    xs_assert_held(&dev->lock);
    block->requested = request->requested;
    block->device = (uint8_t)dev->caps.ordinal;
    block->key = xs_cache_key(bytes, request->lane);
    /* A block larger than the request asked for would be found under another size. */
    block->cacheable = request->own && request->own->enabled && bytes == request->bytes &&
                       !xs_stream_is_none(request->handle);
    xs_account_went_out(dev, bytes);
    xs_account_alloc(dev, request->own, request->requested, bytes);
    xs_track_alloc(dev, request->own, block);
    xs_addr_map_insert(&dev->addresses, &block->addr, xs_block_va(block));
    if (xs_unlikely(!xs_pool_is_default(request->pool)))
        xs_pool_look(request->pool);
}

/*
 * A block of just the right size is taken as it is. Before a larger one is cut, what the thread has cached
 * joins the free blocks, but for the small ones: it may leave a better fit, and cutting around them is what would cost reserved
 * memory later.
 */
static struct xs_block *best_fit_locked(const struct xs_request *request)
{
    struct xs_device *dev = request->dev;
    if (!xs_alloc_is_expandable(dev))
        return xs_classic_best_fit(request);
    struct xs_heap *heap = &request->pool->expandable;
    size_t align = xs_class_alignment(request->bytes, dev->caps.granule);
    struct xs_block *block = xs_heap_find_exact(heap, request->bytes, align, request->stream);
    xs_cu_ptr va = block ? xs_block_va(block) : 0;
    if (!block) {
        if (request->own)
            xs_caches_return_large(dev, request->own);
        block = xs_heap_find(heap, request->bytes, align, request->stream, &va);
    }
    if (!block || !xs_heap_reserve(heap, 2))
        return NULL;
    size_t bytes = request->bytes;
    if (xs_unlikely(heap->whole)) {
        va = xs_block_va(block);
        bytes = xs_block_bytes(block);
    }
    return xs_heap_take(heap, block, va, bytes, request->stream);
}

static struct xs_block *best_fit(const struct xs_request *request, uint64_t *counter)
{
    struct xs_block *block = best_fit_locked(request);
    if (block) {
        xs_alloc_hand_out(request, block);
        ++*counter;
    }
    return block;
}

struct xs_block *xs_alloc_best_fit(const struct xs_request *request, uint64_t *counter)
{
    struct xs_device *dev = request->dev;
    xs_lock_acquire(&dev->lock);
    struct xs_block *block = best_fit(request, counter);
    xs_lock_release(&dev->lock);
    return block;
}

/* ---- one request ---------------------------------------------------------------------------- */

/* Among several threads a hit leaves the cache alone where a look at all of them is due. */
static bool may_be_cached(const struct xs_request *request, bool tried)
{
    return !tried || atomic_load_explicit(&request->dev->cache_shared.many, memory_order_relaxed);
}

/* From the thread's cache, or the depot, where other threads leave what they have freed. Under HEAP. */
static struct xs_block *from_caches(const struct xs_request *request, bool tried)
{
    struct xs_cache *c = request->own;
    if (!c || !c->enabled || request->bytes > XS_CACHE_LARGEST)
        return NULL;
    uint64_t key = xs_cache_key(request->bytes, request->lane);
    struct xs_block *block =
        may_be_cached(request, tried) ? xs_cache_pop(c, key, request->requested, true) : NULL;
    if (!block) {
        xs_cache_expect(c, key);
        if (xs_depot_is_empty(request->dev->depot) || !xs_caches_restock(request->dev, c, key))
            return NULL;
        block = xs_cache_pop(c, key, request->requested, true);
        request->dev->stats.now.rung_depot += block != NULL;
    }
    xs_account_look(request->dev, c);
    return block;
}

static enum xseg_result begin(struct xs_request *request, const struct xs_stream_key *key,
                              struct xs_block **block);

/* The driver says who the handle is. */
static enum xseg_result begin_anew(struct xs_request *request, struct xs_block **block)
{
    struct xs_stream_key key;
    struct xs_device *dev = request->dev;
    enum xseg_result e = xs_context_check(&dev->context);
    if (!e)
        e = xs_stream_identify(request->handle, &key);
    if (!e)
        e = begin(request, &key, block);
    if (e != XSEG_ERROR_NOT_SUPPORTED || xs_device_settle_all(dev))
        return e;
    return begin(request, &key,
                 block); /* records of streams that hold nothing any more are free now */
}

/* The pool, if the caller has not named one, and what it makes of the size. */
static void choose_pool(struct xs_request *request)
{
    struct xs_device *dev = request->dev;
    xs_request_choose(request, request->pool ? request->pool : xs_route_find(dev, request->stream));
    request->bytes = xs_policy_round(&dev->policy, request->requested);
    if (request->pool->no_split)
        request->bytes = xs_round_up(request->bytes, dev->caps.granule);
}

/*
 * All that needs no driver, under one hold of HEAP: the stream's record, and a block from the cache (if the
 * hit only failed for want of the record), the depot or the heap. Without a block the stream and the pool are held
 * until end(), so that they are not taken for unused ones. key NULL: the caller has just seen that the thread knows
 * the handle.
 */
static enum xseg_result begin(struct xs_request *request, const struct xs_stream_key *key,
                              struct xs_block **block)
{
    struct xs_device *dev = request->dev;
    *block = NULL;
    xs_lock_acquire(&dev->lock);
    request->stream = key ? NULL : xs_caches_known_stream(dev, request->own, request->handle);
    enum xseg_result e = XSEG_OK;
    if (!request->stream && key) {
        e = xs_caches_get_stream(dev, key, &request->stream);
        if (!e && request->own)
            xs_caches_know_stream(dev, request->own, request->handle, request->stream);
    }
    bool found = !e && request->stream;
    if (found)
        choose_pool(request);
    if (found && !(*block = from_caches(request, !key)) &&
        !(*block = best_fit(request, &dev->stats.now.rung_best_fit))) {
        request->stream->refs++;
        request->pool->users++;
        request->again = true;
    }
    xs_lock_release(&dev->lock);
    return found || e ? e : begin_anew(request, block);
}

static void end(struct xs_request *request)
{
    xs_lock_acquire(&request->dev->lock);
    request->stream->refs--;
    request->pool->users--;
    xs_lock_release(&request->dev->lock);
}

/* What lies in other threads' caches is joined with what is free, before memory grows for want of it. */
static enum xseg_result serve(struct xs_request *request, struct xs_block **block)
{
    struct xs_device *dev = request->dev;
    enum xseg_result e = XSEG_OK;
    if (xs_caches_flush(dev))
        *block = xs_alloc_best_fit(request, &dev->stats.now.rung_flush);
    if (!*block)
        e = xs_ladder_climb(request, block);
    end(request);
    return e;
}

static enum xseg_result fill(struct xs_device *dev, const struct xs_block *block, unsigned value,
                             xs_cu_stream handle)
{
    struct xs_context_scope scope;
    enum xseg_result e = xs_context_enter(&dev->context, &scope);
    if (e)
        return e;
    e = xs_driver_result(xs_cu_memset_d8_async(xs_block_va(block), (unsigned char)value,
                                               xs_block_bytes(block), handle));
    xs_context_leave(&scope);
    return e;
}

/* Whether the handle of the stream means it in this thread too. */
static bool is_within_reach(const struct xs_stream *stream)
{
    const struct xs_thread *t = xs_thread_current;
    return stream->key.handle != XS_CU_STREAM_PER_THREAD || (t && t->id == stream->key.id);
}

static enum xseg_result fill_with_poison(struct xs_device *dev, const struct xs_block *block,
                                         xs_cu_stream handle)
{
    unsigned poison = atomic_load_explicit(&dev->poison, memory_order_relaxed);
    /* Memory of no single stream has no place in time where a fill would be safe. */
    return xs_likely(!poison) || xs_stream_is_none(handle) ? XSEG_OK
                                                           : fill(dev, block, poison, handle);
}

static enum xseg_result alloc(struct xs_request *request, bool known, void **ptr)
{
    if (request->requested >= kRequestMax)
        return xs_fail(XSEG_ERROR_INVALID_VALUE, "a request of %zu bytes: more than 2^60",
                       request->requested);
    struct xs_device *dev = request->dev;
    struct xs_block *block;
    xs_track_begin(request);
    enum xseg_result e =
        known && request->own ? begin(request, NULL, &block) : begin_anew(request, &block);
    if (!e && !block)
        e = serve(request, &block);
    if (!e && (e = fill_with_poison(dev, block, request->handle)))
        xs_free(dev, block);
    if (!e)
        *ptr = (void *)(uintptr_t)xs_block_va(block);
    xs_track_end(request);
    return e;
}

enum xseg_result xs_alloc(struct xs_device *dev, size_t bytes, xs_cu_stream handle, bool known,
                          void **ptr)
{
    struct xs_request request = {
        .dev = dev, .requested = bytes, .handle = handle, .own = xs_caches_current(dev)};
    return alloc(&request, known, ptr);
}

enum xseg_result xs_alloc_from_pool(struct xs_device *dev, uint64_t pool, size_t bytes,
                                    xs_cu_stream handle, void **ptr)
{
    struct xs_request request = {
        .dev = dev, .requested = bytes, .handle = handle, .own = xs_caches_current(dev)};
    enum xseg_result e = xs_pool_lock(dev, pool, &request.pool);
    if (e)
        return e;
    request.pool->users++;
    xs_lock_release(&dev->lock);
    e = alloc(&request, false, ptr);
    xs_pool_let_go(dev, request.pool);
    return e;
}

/* ---- freeing -------------------------------------------------------------------------------- */

/* To its heap, or to those that wait. Under HEAP; releases it. */
static enum xseg_result free_locked(struct xs_device *dev, struct xs_block *block,
                                    struct xs_cache *own)
{
    size_t bytes = xs_block_bytes(block);
    bool waits = block->uses != NULL;
    xs_addr_map_remove(&dev->addresses, &block->addr);
    xs_account_free(dev, own, block->requested, bytes, waits);
    xs_track(dev, own, waits ? XS_EVENT_FREE_REQUESTED : XS_EVENT_FREE, block);
    if (waits) {
        xs_waiting_put(dev, block);
        xs_lock_release(&dev->lock);
        return XSEG_OK;
    }
    xs_account_came_back(dev, bytes);
    if (block->heap == &dev->main.classic[XS_CLASSIC_UNCACHED]) {
        xs_lock_release(&dev->lock);
        return xs_classic_free_uncached(dev, block);
    }
    uint64_t stamp = xs_fence_stamp(&dev->fences);
    block->stream->last_stamp = stamp;
    xs_heap_put(block->heap, block, block->stream, stamp);
    xs_lock_release(&dev->lock);
    return XSEG_OK;
}

static enum xseg_result freed_already(const struct xs_block *block)
{
    return xs_fail(XSEG_ERROR_UNKNOWN_POINTER, "%p has been freed already",
                   (void *)(uintptr_t)xs_block_va(block));
}

enum xseg_result xs_free(struct xs_device *dev, struct xs_block *block)
{
    if (block->stream->key.handle == XS_STREAM_ANY)
        return xs_free_on(dev, block, XS_STREAM_ALL);
    struct xs_cache *own = xs_caches_current(dev);
    if (own && own->enabled && block->cacheable && xs_block_state_of(block) == XS_BLOCK_LIVE) {
        xs_caches_make_room(dev, own, block->key);
        if (xs_free_hit(own, block))
            return XSEG_OK;
    }
    /* Else work that is not before this on the stream may still be reading it. */
    if (!block->uses && is_within_reach(block->stream))
        fill_with_poison(dev, block, block->stream->key.handle);
    xs_lock_acquire(&dev->lock);
    if (xs_block_state_of(block) != XS_BLOCK_LIVE) {
        xs_lock_release(&dev->lock);
        return freed_already(block);
    }
    return free_locked(dev, block, own);
}

enum xseg_result xs_free_on(struct xs_device *dev, struct xs_block *block, xs_cu_stream handle)
{
    struct xs_cache *own = xs_caches_current(dev);
    struct xs_stream *stream;
    enum xseg_result e = xs_caches_lock_stream(dev, handle, &stream);
    if (e)
        return e;
    bool same = stream == block->stream;
    if (same || xs_block_state_of(block) != XS_BLOCK_LIVE) {
        xs_lock_release(&dev->lock);
        return same ? xs_free(dev, block) : freed_already(block);
    }
    xs_heap_set_stream(block, stream);
    return free_locked(dev, block, own);
}

enum xseg_result xs_alloc_record_stream(struct xs_device *dev, struct xs_block *block,
                                        xs_cu_stream handle)
{
    struct xs_stream *stream;
    enum xseg_result e = xs_caches_lock_stream(dev, handle, &stream);
    if (e)
        return e;
    if (xs_block_state_of(block) != XS_BLOCK_LIVE)
        e = freed_already(block);
    else if (!xs_waiting_add_use(dev, block, stream))
        e = xs_fail(XSEG_ERROR_HOST_MEMORY, "no host memory to record a stream");
    xs_lock_release(&dev->lock);
    return e;
}
