#include "core/alloc.h"

#include "base/error.h"
#include "core/account.h"
#include "core/classic.h"
#include "core/ladder.h"
#include "driver/driver.h"
#include "policy/size_class.h"

bool xs_alloc_is_expandable(const struct xs_device *dev)
{
    return dev->policy.expandable_segments && !dev->no_vmm &&
           dev->policy.backend == XS_BACKEND_NATIVE;
}

void xs_alloc_hand_out(const struct xs_request *request, struct xs_block *block)
{
    xs_assert_held(&request->dev->lock);
    block->requested = request->requested;
    xs_account_alloc(request->dev, request->requested, xs_block_bytes(block));
    xs_addr_map_insert(request->dev->addresses, &block->addr, xs_block_va(block));
}

static struct xs_block *best_fit_locked(const struct xs_request *request)
{
    struct xs_device *dev = request->dev;
    if (!xs_alloc_is_expandable(dev))
        return xs_classic_best_fit(request);
    struct xs_heap *heap = &dev->expandable;
    size_t align = xs_class_alignment(request->bytes, dev->caps.granule);
    xs_cu_ptr va;
    struct xs_block *block = xs_heap_find(heap, request->bytes, align, request->stream, &va);
    if (!block || !xs_heap_reserve(heap, 2))
        return NULL;
    return xs_heap_take(heap, block, va, request->bytes, request->stream);
}

struct xs_block *xs_alloc_best_fit(const struct xs_request *request)
{
    struct xs_device *dev = request->dev;
    xs_lock_acquire(&dev->lock);
    struct xs_block *block = best_fit_locked(request);
    if (block)
        xs_alloc_hand_out(request, block);
    xs_lock_release(&dev->lock);
    return block;
}

/* The stream's record and, where a free block serves, the block. */
static enum xseg_result begin(struct xs_request *request, const struct xs_stream_key *key,
                              struct xs_block **block)
{
    struct xs_device *dev = request->dev;
    xs_lock_acquire(&dev->lock);
    request->bytes = xs_policy_round(&dev->policy, request->requested);
    request->stream = xs_streams_get(&dev->streams, key);
    *block = request->stream ? best_fit_locked(request) : NULL;
    if (*block) {
        xs_alloc_hand_out(request, *block);
        dev->stats.now.rung_best_fit++;
    }
    /* Until the request is served, its stream is not to be taken for an unused one. */
    if (request->stream)
        request->stream->refs++;
    xs_lock_release(&dev->lock);
    return request->stream ? XSEG_OK : XSEG_ERROR_HOST_MEMORY;
}

static void end(struct xs_request *request)
{
    xs_lock_acquire(&request->dev->lock);
    request->stream->refs--;
    xs_lock_release(&request->dev->lock);
}

enum xseg_result xs_alloc(struct xs_device *dev, size_t bytes, xs_cu_stream handle, void **ptr)
{
    if (bytes >= kRequestMax)
        return xs_fail(XSEG_ERROR_INVALID_VALUE, "a request of %zu bytes: more than 2^60", bytes);
    struct xs_stream_key key;
    enum xseg_result e = xs_stream_identify(handle, &key);
    if (e)
        return e;
    struct xs_request request = {.dev = dev, .requested = bytes, .handle = key.handle};
    struct xs_block *block;
    e = begin(&request, &key, &block);
    if (e)
        return e;
    if (!block)
        e = xs_ladder_climb(&request, &block);
    if (!e)
        *ptr = (void *)(uintptr_t)xs_block_va(block);
    end(&request);
    return e;
}

enum xseg_result xs_free(struct xs_device *dev, struct xs_block *block)
{
    xs_lock_acquire(&dev->lock);
    if (block->state != XS_BLOCK_LIVE) {
        xs_lock_release(&dev->lock);
        return xs_fail(XSEG_ERROR_UNKNOWN_POINTER, "freed twice at once");
    }
    xs_addr_map_remove(dev->addresses, &block->addr);
    xs_account_free(dev, block->requested, xs_block_bytes(block));
    struct xs_heap *heap = block->heap;
    if (heap == &dev->classic[XS_CLASSIC_UNCACHED]) {
        xs_lock_release(&dev->lock);
        return xs_classic_free_uncached(dev, block);
    }
    uint64_t stamp = xs_fence_stamp(&dev->fences);
    block->stream->last_stamp = stamp;
    xs_heap_put(heap, block, block->stream, stamp);
    xs_lock_release(&dev->lock);
    return XSEG_OK;
}
