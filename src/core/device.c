#include "core/device.h"

#include <string.h>

#include "base/error.h"
#include "core/movable.h"
#include "driver/driver.h"
#include "heap/heap.h"

/* The driver room counts for the process; a device's statistics count from when it was opened. */
static void driver_counters(uint64_t out[XS_STATS_DRIVER_COUNT])
{
    out[0] = xs_driver_calls(XS_CALL_mem_create) + xs_driver_calls(XS_CALL_mem_alloc);
    out[1] = xs_driver_calls(XS_CALL_mem_release) + xs_driver_calls(XS_CALL_mem_free);
    out[2] = xs_driver_calls(XS_CALL_mem_map);
    out[3] = xs_driver_calls(XS_CALL_mem_unmap);
    out[4] = xs_driver_calls(XS_CALL_mem_set_access);
    out[5] = xs_driver_cost_ns();
    out[6] = xs_driver_wall_ns();
}

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

static bool init_heaps(struct xs_device *dev)
{
    bool ok = xs_heap_init(&dev->expandable, &dev->records);
    dev->expandable.owner = dev;
    for (unsigned i = 0; i < XS_CLASSIC_COUNT; i++) {
        ok &= xs_heap_init(&dev->classic[i], &dev->records);
        dev->classic[i].owner = dev;
    }
    return ok;
}

static void destroy_heaps(struct xs_device *dev)
{
    xs_heap_destroy(&dev->expandable);
    for (unsigned i = 0; i < XS_CLASSIC_COUNT; i++)
        xs_heap_destroy(&dev->classic[i]);
    xs_slab_destroy(&dev->records);
}

enum xseg_result xs_device_open(struct xs_device *dev, int ordinal, const struct xs_policy *policy,
                                struct xs_addr_map *addresses)
{
    memset(dev, 0, sizeof(*dev));
    enum xseg_result e = xs_caps_query(ordinal, &dev->caps);
    if (e)
        return e;
    xs_slab_init(&dev->records, sizeof(struct xs_block));
    if (!init_heaps(dev)) {
        destroy_heaps(dev);
        return xs_fail(XSEG_ERROR_HOST_MEMORY, "no host memory for device %d", ordinal);
    }
    dev->context.device = dev->caps.device;
    dev->addresses = addresses;
    dev->no_vmm = !dev->caps.vmm;
    dev->policy = *policy;
    dev->limit_bytes = xs_policy_limit(policy, dev->caps.total_bytes);
    dev->max_fresh_bytes = SIZE_MAX;
    driver_counters(dev->stats.driver_base);
    xs_lock_init(&dev->growth, XS_RANK_GROWTH);
    xs_lock_init(&dev->lock, XS_RANK_HEAP);
    xs_fences_init(&dev->fences);
    xs_streams_init(&dev->streams);
    xs_extents_init(&dev->extents, &dev->caps, handle_types(policy, &dev->caps),
                    wants_rdma(policy, &dev->caps));
    return XSEG_OK;
}

static void close_expandable(struct xs_device *dev)
{
    XS_LIST_FOR_EACH_SAFE(link, &dev->expandable.segments) {
        struct xs_segment *segment = XS_CONTAINER_OF(link, struct xs_segment, link);
        for (xs_cu_ptr va = segment->base; va < segment->base + segment->bytes;) {
            struct xs_extent *e = xs_segment_extent_at(segment, va);
            va += e ? e->bytes : segment->granule;
            if (!e)
                continue;
            xs_segment_unmap(e->va, e->bytes);
            xs_cu_mem_release(e->mem);
        }
        xs_segment_unreserve(segment);
    }
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

void xs_device_close(struct xs_device *dev)
{
    struct xs_context_scope scope;
    if (!xs_context_enter(&dev->context, &scope)) {
        close_expandable(dev);
        for (unsigned i = 0; i < XS_CLASSIC_COUNT; i++)
            close_classic(&dev->classic[i]);
        xs_fences_destroy(&dev->fences);
        xs_context_leave(&scope);
    }
    xs_context_release(&dev->context);
    xs_extents_destroy(&dev->extents);
    xs_streams_destroy(&dev->streams);
    destroy_heaps(dev);
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
    xs_lock_release(&dev->lock);
    xs_lock_release(&dev->growth);
}

void xs_device_settle(struct xs_device *dev, const struct xs_stream *except)
{
    xs_lock_acquire(&dev->lock);
    xs_heap_settle(&dev->expandable, &dev->fences, except);
    for (unsigned i = 0; i < XS_CLASSIC_COUNT; i++)
        xs_heap_settle(&dev->classic[i], &dev->fences, except);
    xs_lock_release(&dev->lock);
}

/* Room for the memory several times over, so that holes may lie about; in powers of two, since that is how
 * refusals are answered, by halves. */
size_t xs_device_default_reserve(const struct xs_device *dev)
{
    size_t most = 64 * 1024 * XS_GIB;
    return xs_min(most, xs_pow2_ceil(xs_min(dev->caps.total_bytes, most)) * 8);
}

/* ---- reading -------------------------------------------------------------------------------- */

static void read_expandable_block(const struct xs_device *dev, const struct xs_block *block,
                                  struct xseg_stats *out)
{
    if (!xs_block_has_passed(block, &dev->fences)) {
        out->frag_stream_bytes += xs_block_bytes(block);
        return;
    }
    size_t whole = xs_movable_bytes_in(block);
    out->frag_free_bytes += whole;
    out->frag_pinned_bytes += xs_block_bytes(block) - whole;
}

static void read_classic_block(const struct xs_device *dev, const struct xs_block *block,
                               struct xseg_stats *out)
{
    if (!xs_block_has_passed(block, &dev->fences))
        out->frag_stream_bytes += xs_block_bytes(block);
    else if (xs_block_is_whole_segment(block))
        out->frag_free_bytes += xs_block_bytes(block);
    else
        out->frag_split_bytes += xs_block_bytes(block);
}

static void read_heap(const struct xs_device *dev, const struct xs_heap *heap,
                      struct xseg_stats *out)
{
    for (uint32_t index = 0; index < heap->trees; index++) {
        struct xs_tree_node *node = xs_tree_first(&heap->free[index]);
        for (; node; node = xs_tree_next(&heap->free[index], node)) {
            const struct xs_block *block = xs_block_of_node(node);
            out->largest_free_bytes = xs_max(out->largest_free_bytes, xs_block_bytes(block));
            if (heap == &dev->expandable)
                read_expandable_block(dev, block, out);
            else
                read_classic_block(dev, block, out);
        }
    }
}

/* Every byte of reserved - allocated has one cause. What a growth has in hand at this moment is in no tree:
 * it counts as free. */
static void read_fragmentation(const struct xs_device *dev, struct xseg_stats *out)
{
    read_heap(dev, &dev->expandable, out);
    for (unsigned i = 0; i < XS_CLASSIC_COUNT; i++)
        read_heap(dev, &dev->classic[i], out);
    out->frag_idle_bytes = dev->extents.idle_bytes;
    out->frag_waiting_bytes = out->active_bytes.current - out->allocated_bytes.current;
    size_t explained = out->frag_free_bytes + out->frag_idle_bytes + out->frag_pinned_bytes +
                       out->frag_split_bytes + out->frag_stream_bytes + out->frag_waiting_bytes;
    out->frag_free_bytes +=
        out->reserved_bytes.current - out->allocated_bytes.current - explained;
}

static void read_driver(const struct xs_device *dev, struct xseg_stats *out)
{
    uint64_t now[XS_STATS_DRIVER_COUNT];
    uint64_t *const fields[] = {&out->driver_create,     &out->driver_release, &out->driver_map,
                                &out->driver_unmap,      &out->driver_set_access, &out->driver_ns,
                                &out->driver_wall_ns};
    _Static_assert(XS_COUNT_OF(fields) == XS_STATS_DRIVER_COUNT, "one field each");
    driver_counters(now);
    for (unsigned i = 0; i < XS_COUNT_OF(fields); i++)
        *fields[i] = now[i] - dev->stats.driver_base[i];
}

void xs_device_read_stats(struct xs_device *dev, struct xseg_stats *out)
{
    xs_lock_acquire(&dev->lock);
    *out = dev->stats.now;
    out->device = dev->caps.ordinal;
    out->limit_bytes = dev->limit_bytes == SIZE_MAX ? UINT64_MAX : dev->limit_bytes;
    out->metadata_bytes = xs_meta_bytes();
    read_fragmentation(dev, out);
    read_driver(dev, out);
    xs_lock_release(&dev->lock);
}

void xs_device_reset_totals(struct xs_device *dev)
{
    xs_lock_acquire(&dev->lock);
    xs_stats_reset_totals(&dev->stats.now);
    driver_counters(dev->stats.driver_base);
    xs_lock_release(&dev->lock);
}

void xs_device_reset_peaks(struct xs_device *dev)
{
    xs_lock_acquire(&dev->lock);
    xs_stats_reset_peaks(&dev->stats.now);
    xs_lock_release(&dev->lock);
}
