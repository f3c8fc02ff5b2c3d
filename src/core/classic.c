#include "core/classic.h"

#include "base/error.h"
#include "core/account.h"
#include "core/track.h"
#include "driver/driver.h"
#include "policy/size_class.h"

/* backend:cudaMalloc keeps nothing; but what a pool holds has to stay where it is. */
static bool is_uncached(const struct xs_request *request)
{
    return request->dev->policy.backend == XS_BACKEND_CUDA_MALLOC &&
           xs_pool_is_default(request->pool);
}

static struct xs_heap *heap_for(const struct xs_request *request)
{
    struct xs_heap *heaps = request->pool->classic;
    if (is_uncached(request))
        return &heaps[XS_CLASSIC_UNCACHED];
    return &heaps[xs_class_is_small(request->bytes) ? XS_CLASSIC_SMALL : XS_CLASSIC_LARGE];
}

/* ---- best fit ------------------------------------------------------------------------------- */

/* max_split_size_mb keeps the largest blocks for requests of their kind. */
static bool may_serve(const struct xs_policy *policy, const struct xs_block *block, size_t bytes)
{
    bool oversize = xs_class_is_oversize(policy, bytes);
    if (!oversize)
        return !xs_class_is_oversize(policy, xs_block_bytes(block));
    return xs_block_bytes(block) - bytes < policy->max_non_split_rounding;
}

static bool should_split(const struct xs_policy *policy, const struct xs_block *block, size_t bytes)
{
    if (xs_block_bytes(block) <= bytes) /* less: what is not cached is not rounded either */
        return false;
    size_t rest = xs_block_bytes(block) - bytes;
    if (xs_class_is_small(bytes))
        return rest >= kMinBlock;
    return !xs_class_is_oversize(policy, bytes) && rest > kSmallMax;
}

static struct xs_block *take(const struct xs_request *request, struct xs_heap *heap,
                             struct xs_block *block)
{
    bool split = !heap->whole && should_split(&request->dev->policy, block, request->bytes);
    if (split && !xs_heap_reserve(heap, 2))
        return NULL;
    return xs_heap_take(heap, block, xs_block_va(block),
                        split ? request->bytes : xs_block_bytes(block), request->stream);
}

struct xs_block *xs_classic_best_fit(const struct xs_request *request)
{
    struct xs_device *dev = request->dev;
    struct xs_heap *heap = heap_for(request);
    heap->searches += !request->again; /* the ladder searches more often than PyTorch does */
    xs_cu_ptr va;
    struct xs_block *block = xs_heap_find(heap, request->bytes, 1, request->stream, &va);
    if (!block || !may_serve(&dev->policy, block, request->bytes))
        return NULL;
    return take(request, heap, block);
}

/* ---- giving segments back ------------------------------------------------------------------- */

/* A free block that is a whole segment and whose fence has passed becomes BUSY. */
static bool take_segment(struct xs_device *dev, struct xs_block *block)
{
    if (!xs_block_is_whole_segment(block) || !xs_block_has_passed(block, &dev->fences))
        return false;
    xs_heap_carve(block->heap, block, xs_block_va(block), xs_block_bytes(block));
    return true;
}

/* Under HEAP: the driver has taken the block's segment. */
static void forget_segment(struct xs_device *dev, struct xs_block *block)
{
    struct xs_segment *segment = block->segment;
    xs_account_release(dev, xs_block_bytes(block));
    xs_track_segment(block->heap, XS_EVENT_SEGMENT_FREE, segment);
    xs_gauge_sub(&dev->stats.now.segments, 1);
    xs_heap_remove_segment(block->heap, block);
    xs_segment_delete_classic(segment);
}

/* The BUSY block's segment goes back to the driver; it stays, free, where the driver refuses. */
static enum xseg_result release_segment(struct xs_device *dev, struct xs_block *block)
{
    xs_cu_result code = xs_cu_mem_free(block->segment->base);
    xs_lock_acquire(&dev->lock);
    if (code)
        xs_heap_put(block->heap, block, block->stream, block->stamp);
    else
        forget_segment(dev, block);
    xs_lock_release(&dev->lock);
    return xs_driver_result(code);
}

/* A segment that can go: of at least `min` bytes and age, the smallest or the largest. It becomes BUSY. */
static struct xs_block *next_segment(struct xs_device *dev, struct xs_heap *heap, size_t min,
                                     uint32_t min_age)
{
    XS_BIT_SET_FOR_EACH(index, &heap->filled)
    {
        struct xs_bins *tree = &heap->free[index];
        struct xs_tree_node *node = xs_bins_at_least(tree, min, 0);
        for (; node; node = xs_bins_next(tree, node)) {
            struct xs_block *block = xs_block_of_node(node);
            if (heap->searches - block->age >= min_age && take_segment(dev, block))
                return block;
        }
    }
    return NULL;
}

static enum xseg_result release_heap(struct xs_device *dev, struct xs_heap *heap, size_t keep,
                                     uint32_t min_age)
{
    for (;;) {
        xs_lock_acquire(&dev->lock);
        bool enough = dev->stats.now.reserved_bytes.current <= keep;
        struct xs_block *block = enough ? NULL : next_segment(dev, heap, 0, min_age);
        xs_lock_release(&dev->lock);
        if (!block)
            return XSEG_OK;
        enum xseg_result e = release_segment(dev, block);
        if (e)
            return e;
    }
}

static enum xseg_result release_pool(struct xs_device *dev, struct xs_pool *pool, size_t keep)
{
    enum xseg_result e = release_heap(dev, &pool->classic[XS_CLASSIC_LARGE], keep, 0);
    return e ? e : release_heap(dev, &pool->classic[XS_CLASSIC_SMALL], keep, 0);
}

enum xseg_result xs_classic_release(struct xs_device *dev, size_t keep)
{
    struct xs_pool *pool = NULL;
    while ((pool = xs_pool_next(dev, pool, xs_pool_is_released))) {
        enum xseg_result e = release_pool(dev, pool, keep);
        if (e) {
            xs_pool_let_go(dev, pool);
            return e;
        }
    }
    return XSEG_OK;
}

static struct xs_block *largest_oversize(struct xs_device *dev, struct xs_heap *heap,
                                         const struct xs_stream *stream)
{
    struct xs_bins *tree = &heap->free[stream->index];
    struct xs_tree_node *node = xs_bins_last(tree);
    for (; node && xs_class_is_oversize(&dev->policy, node->size);
         node = xs_bins_below(tree, node->size, node->va))
        if (take_segment(dev, xs_block_of_node(node)))
            return xs_block_of_node(node);
    return NULL;
}

enum xseg_result xs_classic_release_for(struct xs_device *dev, const struct xs_request *request)
{
    struct xs_heap *heap = heap_for(request);
    size_t gone = request->pool->held ? SIZE_MAX : 0;
    while (gone < request->bytes) {
        xs_lock_acquire(&dev->lock);
        struct xs_block *block = NULL;
        if (dev->policy.max_split_size != SIZE_MAX) {
            block = next_segment(dev, heap, xs_max(request->bytes, dev->policy.max_split_size), 0);
            if (!block)
                block = largest_oversize(dev, heap, request->stream);
        }
        size_t bytes = block ? xs_block_bytes(block) : 0;
        xs_lock_release(&dev->lock);
        if (!block)
            return XSEG_OK;
        enum xseg_result e = release_segment(dev, block);
        if (e)
            return e;
        gone += bytes;
    }
    return XSEG_OK;
}

/* ---- garbage collection --------------------------------------------------------------------- */

/* The average age of free segments, in searches, rounded up, for ages are whole numbers. False: there are none.
 * Under HEAP. */
static bool average_age(const struct xs_heap *heap, uint32_t *age)
{
    uint64_t sum = 0, count = 0;
    XS_BIT_SET_FOR_EACH(index, &heap->filled)
    {
        struct xs_tree_node *node = xs_bins_first(&heap->free[index]);
        for (; node; node = xs_bins_next(&heap->free[index], node)) {
            if (!xs_block_is_whole_segment(xs_block_of_node(node)))
                continue;
            sum += heap->searches - xs_block_of_node(node)->age;
            count++;
        }
    }
    *age = count ? (uint32_t)((sum + count - 1) / count) : 0;
    return count > 0;
}

/* Above its share of what may be held, all that has been free for longer than average goes, until it is enough. */
static enum xseg_result collect_garbage(struct xs_device *dev)
{
    struct xs_heap *heap = &dev->main.classic[XS_CLASSIC_LARGE];
    double threshold = dev->policy.garbage_collection_threshold;
    if (threshold <= 0)
        return XSEG_OK;
    size_t allowed = xs_min(dev->limit_bytes, dev->caps.total_bytes);
    size_t keep = (size_t)(threshold * (double)allowed);
    for (;;) {
        uint32_t age;
        xs_lock_acquire(&dev->lock);
        size_t before = dev->stats.now.reserved_bytes.current;
        bool any = average_age(heap, &age);
        xs_lock_release(&dev->lock);
        if (before <= keep || !any)
            return XSEG_OK;
        enum xseg_result e = release_heap(dev, heap, 0, age);
        if (e || dev->stats.now.reserved_bytes.current == before)
            return e;
    }
}

/* ---- new segments --------------------------------------------------------------------------- */

static enum xseg_result publish(const struct xs_request *request, xs_cu_ptr base, size_t bytes,
                                struct xs_block **out)
{
    struct xs_device *dev = request->dev;
    struct xs_heap *heap = heap_for(request);
    struct xs_segment *segment = xs_segment_new_classic(base, bytes);
    xs_lock_acquire(&dev->lock);
    if (segment && xs_heap_reserve(heap, 3)) {
        struct xs_block *block = xs_heap_add_segment(heap, segment, XS_BLOCK_BUSY);
        xs_account_reserve(dev, bytes);
        xs_track_segment(heap, XS_EVENT_SEGMENT_ALLOC, segment);
        xs_gauge_add(&dev->stats.now.segments, 1);
        dev->stats.now.rung_create++;
        block = xs_heap_put(heap, block, NULL, 0);
        *out = take(request, heap, block);
        xs_alloc_hand_out(request, *out);
        xs_lock_release(&dev->lock);
        return XSEG_OK;
    }
    xs_lock_release(&dev->lock);
    if (segment)
        xs_segment_delete_classic(segment);
    xs_cu_mem_free(base);
    return xs_fail(XSEG_ERROR_HOST_MEMORY, "no host memory for a segment's records");
}

enum xseg_result xs_classic_grow(const struct xs_request *request, struct xs_block **block)
{
    struct xs_device *dev = request->dev;
    enum xseg_result e = collect_garbage(dev);
    if (e)
        return e;
    size_t bytes = is_uncached(request) ? request->requested
                                        : xs_class_segment_bytes(&dev->policy, request->bytes);
    xs_lock_acquire(&dev->lock);
    size_t reserved = dev->stats.now.reserved_bytes.current;
    bool fits = reserved <= dev->limit_bytes && bytes <= dev->limit_bytes - reserved;
    xs_lock_release(&dev->lock);
    if (!fits)
        return xs_fail(XSEG_ERROR_OUT_OF_MEMORY, "the limit of %zu bytes leaves no room",
                       dev->limit_bytes);
    xs_cu_ptr base;
    xs_cu_result code = xs_cu_mem_alloc(&base, bytes);
    return code ? xs_driver_result(code) : publish(request, base, bytes, block);
}

/* Where the driver refuses, the block is as before the free, so that it can be freed again. */
enum xseg_result xs_classic_free_uncached(struct xs_device *dev, struct xs_block *block)
{
    struct xs_context_scope scope;
    enum xseg_result e = xs_context_enter(&dev->context, &scope);
    if (!e) {
        e = xs_driver_result(xs_cu_mem_free(block->segment->base));
        xs_context_leave(&scope);
    }
    xs_lock_acquire(&dev->lock);
    if (e) {
        xs_account_went_out(dev, xs_block_bytes(block));
        xs_account_alloc(dev, xs_caches_own(dev), block->requested, xs_block_bytes(block));
        xs_track(dev, xs_caches_own(dev), XS_EVENT_ALLOC, block);
        xs_addr_map_insert(&dev->addresses, &block->addr, xs_block_va(block));
    } else {
        forget_segment(dev, block);
    }
    xs_lock_release(&dev->lock);
    return e;
}
