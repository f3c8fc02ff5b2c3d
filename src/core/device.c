#include "core/device.h"

#include <string.h>

#include "base/error.h"
#include "cache/depot.h"
#include "core/account.h"
#include "core/caches.h"
#include "core/captures.h"
#include "core/reading.h"
#include "core/route.h"
#include "core/stale.h"
#include "core/waiting.h"
#include "driver/driver.h"
#include "heap/heap.h"

/* ---- opening and closing -------------------------------------------------------------------- */

static int handle_types(const struct xs_policy *policy, const struct xs_caps *caps)
{
    int posix_fd = caps->posix_fd ? XS_CU_HANDLE_POSIX_FD : XS_CU_HANDLE_NONE;
    int fabric = caps->fabric ? XS_CU_HANDLE_FABRIC : XS_CU_HANDLE_NONE;
    switch (policy->handle_type) {
    case XS_HANDLE_POSIX_FD:
        return posix_fd;
    case XS_HANDLE_FABRIC:
        return fabric;
    case XS_HANDLE_AUTO:
        return posix_fd | fabric;
    default:
        return XS_CU_HANDLE_NONE;
    }
}

static bool wants_rdma(const struct xs_policy *policy, const struct xs_caps *caps)
{
    return caps->rdma && policy->gpu_direct_rdma != XS_RDMA_OFF;
}

static bool init_pools(struct xs_device *dev)
{
    xs_list_init(&dev->pools);
    xs_list_init(&dev->routes);
    xs_slab_init(&dev->pool_records, sizeof(struct xs_pool));
    xs_route_records_init(&dev->route_records);
    xs_list_push_back(&dev->pools, &dev->main.link);
    return xs_pool_init(&dev->main, dev);
}

#define FIRST_BLOCKS  1024
#define FIRST_EXTENTS 256

static void destroy_pools(struct xs_device *dev)
{
    XS_LIST_FOR_EACH(link, &dev->pools)
        xs_pool_end(xs_pool_of_link(link));
    xs_slab_destroy(&dev->pool_records);
    xs_slab_destroy(&dev->route_records);
}

static void destroy_records(struct xs_device *dev)
{
    destroy_pools(dev);
    xs_slab_destroy(&dev->records);
    xs_slab_destroy(&dev->uses);
    xs_addr_map_destroy(&dev->addresses);
    if (dev->depot)
        xs_meta_unmap(dev->depot, sizeof(*dev->depot));
}

/* What a small program needs, so that its first allocations need not ask the system for it. If there is no host
 * memory, they will say so. */
static void prepare_records(struct xs_device *dev)
{
    xs_slab_reserve(&dev->records, FIRST_BLOCKS);
    xs_slab_reserve(&dev->extents.slab, FIRST_EXTENTS);
    xs_slab_reserve(&dev->streams.slab, 1);
    xs_slab_reserve(&dev->fences.slab, 1);
    xs_biased_lock_prepare();
}

enum xseg_result xs_device_open(struct xs_device *dev, int ordinal, const struct xs_policy *policy)
{
    memset(dev, 0, sizeof(*dev));
    enum xseg_result e = xs_caps_query(ordinal, &dev->caps);
    if (e)
        return e;
    xs_slab_init_keeping(&dev->records, xs_round_up(sizeof(struct xs_block), XS_CACHE_LINE),
                         sizeof(struct xs_addr_node));
    xs_slab_init(&dev->uses, sizeof(struct xs_use));
    dev->depot = xs_meta_map(sizeof(*dev->depot));
    if (!init_pools(dev) || !dev->depot || !xs_addr_map_init(&dev->addresses)) {
        destroy_records(dev);
        return xs_fail(XSEG_ERROR_HOST_MEMORY, "no host memory for device %d", ordinal);
    }
    dev->context.device = dev->caps.device;
    dev->no_vmm = !dev->caps.vmm;
    dev->policy = *policy;
    atomic_store(&dev->poison, policy->poison);
    dev->limit_bytes = xs_policy_limit(policy, dev->caps.total_bytes);
    dev->max_fresh_bytes = SIZE_MAX;
    xs_reading_begin_totals(dev);
    xs_lock_init(&dev->growth, XS_RANK_GROWTH);
    xs_lock_init(&dev->lock, XS_RANK_HEAP);
    xs_lock_init(&dev->caches_lock, XS_RANK_CACHES);
    xs_list_init(&dev->caches);
    xs_list_init(&dev->waiting);
    xs_list_init(&dev->stale);
    xs_history_init(&dev->history);
    xs_history_resize(&dev->history, policy->history);
    xs_depot_init(dev->depot);
    dev->cache_shared.epoch = &dev->fences.epoch;
    xs_fences_init(&dev->fences);
    xs_streams_init(&dev->streams);
    xs_extents_init(&dev->extents, &dev->caps, handle_types(policy, &dev->caps),
                    wants_rdma(policy, &dev->caps));
    prepare_records(dev);
    return XSEG_OK;
}

static void close_segment(struct xs_segment *segment)
{
    xs_cu_ptr done = segment->base; /* an extent may reach into the next block */
    XS_LIST_FOR_EACH(place, &segment->blocks) {
        const struct xs_block *block = xs_block_of_place(place);
        if (xs_block_state_of(block) == XS_BLOCK_HOLE)
            continue;
        if (xs_block_state_of(block) == XS_BLOCK_STALE) {
            xs_segment_unmap(xs_block_va(block), xs_block_bytes(block));
            continue;
        }
        for (xs_cu_ptr va = xs_block_va(block) > done ? xs_block_va(block) : done;
             va < xs_block_end(block);) {
            struct xs_extent *e = xs_segment_extent_at(segment, va);
            va = done = e->va + e->bytes;
            xs_segment_unmap(e->va, e->bytes);
            xs_cu_mem_release(e->mem);
        }
    }
    xs_segment_unreserve(segment);
}

static void close_expandable(struct xs_heap *heap)
{
    XS_LIST_FOR_EACH_SAFE(link, &heap->segments)
        close_segment(XS_CONTAINER_OF(link, struct xs_segment, link));
}

static void close_idle(struct xs_device *dev)
{
    struct xs_extent *e;
    while ((e = xs_extent_largest_idle(&dev->extents, SIZE_MAX))) {
        xs_extent_take_idle(&dev->extents, e);
        xs_cu_mem_release(e->mem);
    }
}

static void close_classic(struct xs_heap *heap)
{
    XS_LIST_FOR_EACH_SAFE(link, &heap->segments) {
        struct xs_segment *segment = XS_CONTAINER_OF(link, struct xs_segment, link);
        xs_cu_mem_free(segment->base);
        xs_segment_delete_classic(segment);
    }
}

static void close_pool(struct xs_pool *pool)
{
    close_expandable(&pool->expandable);
    for (unsigned i = 0; i < XS_CLASSIC_COUNT; i++)
        close_classic(&pool->classic[i]);
}

void xs_device_close(struct xs_device *dev)
{
    xs_caches_end(dev);
    struct xs_context_scope scope;
    if (!xs_context_enter(&dev->context, &scope)) {
        XS_LIST_FOR_EACH(link, &dev->pools)
            close_pool(xs_pool_of_link(link));
        close_idle(dev);
        xs_fences_destroy(&dev->fences);
        xs_context_leave(&scope);
    }
    xs_context_release(&dev->context);
    xs_depot_destroy(dev->depot);
    xs_lock_destroy(&dev->caches_lock);
    xs_extents_destroy(&dev->extents);
    xs_streams_destroy(&dev->streams);
    destroy_records(dev);
    xs_history_destroy(&dev->history);
    xs_lock_destroy(&dev->lock);
    xs_lock_destroy(&dev->growth);
}

void xs_device_apply(struct xs_device *dev, const struct xs_policy *policy)
{
    xs_lock_acquire(&dev->growth);
    xs_lock_acquire(&dev->lock);
    size_t before = xs_policy_limit(&dev->policy, dev->caps.total_bytes);
    size_t after = xs_policy_limit(policy, dev->caps.total_bytes);
    if (before != after) /* else a limit that was set by call stays */
        dev->limit_bytes = after;
    dev->policy = *policy;
    xs_history_resize(&dev->history, policy->history);
    atomic_store(&dev->poison, policy->poison);
    atomic_fetch_add(&dev->cache_shared.generation, 1);
    xs_lock_release(&dev->lock);
    xs_lock_release(&dev->growth);
    xs_caches_flush(dev); /* what the old policy let in */
}

struct xs_block *xs_device_find(struct xs_device *dev, const void *ptr, bool sure)
{
    struct xs_addr_node *node = xs_addr_map_find(&dev->addresses, (uintptr_t)ptr);
    if (!node && sure) {
        xs_lock_acquire(&dev->lock);
        node = xs_addr_map_find_locked(&dev->addresses, (uintptr_t)ptr);
        xs_lock_release(&dev->lock);
    }
    return node ? XS_CONTAINER_OF(node, struct xs_block, addr) : NULL;
}

/* Without HEAP a record might be taken for another stream, whose frees would then pass with this one's fence. */
static void hold(struct xs_stream *const *streams, size_t n)
{
    for (size_t i = 0; i < n; i++)
        streams[i]->refs++;
}

static void let_go(struct xs_device *dev, struct xs_stream *const *streams, size_t n)
{
    xs_lock_acquire(&dev->lock);
    for (size_t i = 0; i < n; i++)
        streams[i]->refs--;
    xs_lock_release(&dev->lock);
}

#define ALIVE_MAX 64

enum xseg_result xs_device_record_fences(struct xs_device *dev)
{
    struct xs_stream *streams[ALIVE_MAX];
    xs_assert_held(&dev->growth); /* so none of them is unregistered meanwhile */
    xs_lock_acquire(&dev->lock);
    size_t n = xs_streams_alive_and_open(&dev->streams, streams, ALIVE_MAX);
    hold(streams, n);
    xs_lock_release(&dev->lock);
    enum xseg_result e = XSEG_OK;
    for (size_t i = 0; i < n && !e; i++)
        if (!xs_captures_has(streams[i]->key.handle))
            e = xs_fence_record(&dev->fences, streams[i], streams[i]->key.handle);
    let_go(dev, streams, n);
    return e;
}

/* Either this sees the capture, or whoever begins it sees this and waits. */
enum xseg_result xs_device_record_context_fence(struct xs_device *dev)
{
    xs_assert_held(&dev->growth);
    atomic_store(&dev->recording, true);
    enum xseg_result e = xs_captures_maybe(dev) ? XSEG_ERROR_NOT_SUPPORTED
                                                : xs_fence_record(&dev->fences, NULL, NULL);
    atomic_store(&dev->recording, false);
    return e;
}

static enum xseg_result record_stream_fence(struct xs_device *dev, xs_cu_stream handle)
{
    if (xs_captures_has(handle))
        return XSEG_OK;
    struct xs_stream *stream;
    enum xseg_result e = xs_caches_lock_stream(dev, handle, &stream);
    if (e)
        return e;
    hold(&stream, 1);
    xs_lock_release(&dev->lock);
    e = xs_fence_record(&dev->fences, stream, handle);
    let_go(dev, &stream, 1);
    return e;
}

static enum xseg_result close_stream_locked(struct xs_device *dev, xs_cu_stream handle)
{
    struct xs_context_scope scope;
    enum xseg_result e = xs_caches_trust_stream(dev, handle, false);
    if (!e)
        e = xs_context_enter(&dev->context, &scope);
    if (e)
        return e;
    e = record_stream_fence(dev, handle);
    xs_context_leave(&scope);
    return e;
}

enum xseg_result xs_device_close_stream(struct xs_device *dev, xs_cu_stream handle)
{
    xs_caches_flush(dev);
    xs_lock_acquire(&dev->growth); /* whoever holds it may be using the handle */
    enum xseg_result e = close_stream_locked(dev, handle);
    xs_lock_release(&dev->growth);
    return e;
}

void xs_device_settle(struct xs_device *dev, const struct xs_stream *except)
{
    xs_lock_acquire(&dev->lock);
    xs_waiting_settle(dev);
    XS_LIST_FOR_EACH(link, &dev->pools) {
        struct xs_pool *pool = xs_pool_of_link(link);
        xs_heap_settle(&pool->expandable, &dev->fences, except);
        for (unsigned i = 0; i < XS_CLASSIC_COUNT; i++)
            xs_heap_settle(&pool->classic[i], &dev->fences, except);
    }
    xs_lock_release(&dev->lock);
}

enum xseg_result xs_device_settle_in_context(struct xs_device *dev)
{
    bool progress;
    xs_caches_flush(dev);
    enum xseg_result e = xs_device_record_fences(dev);
    if (!e)
        e = xs_device_record_context_fence(dev);
    if (e && e != XSEG_ERROR_NOT_SUPPORTED)
        return e;
    e = xs_fence_poll(&dev->fences, &progress);
    xs_device_settle(dev, NULL);
    xs_stale_sweep(dev);
    return e;
}

enum xseg_result xs_device_settle_all(struct xs_device *dev)
{
    struct xs_context_scope scope;
    xs_lock_acquire(&dev->growth);
    enum xseg_result e = xs_context_enter(&dev->context, &scope);
    if (!e) {
        e = xs_device_settle_in_context(dev);
        xs_context_leave(&scope);
    }
    xs_lock_release(&dev->growth);
    return e;
}

/* Room for the memory several times over, so that holes may lie about; in powers of two, since that is how
 * refusals are answered, by halves. */
size_t xs_device_default_reserve(const struct xs_device *dev)
{
    size_t most = 64 * 1024 * XS_GIB;
    return xs_min(most, xs_pow2_ceil(xs_min(dev->caps.total_bytes, most)) * 8);
}
