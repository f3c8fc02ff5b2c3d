#include "vmm/extent.h"

#include <string.h>

#include "driver/driver.h"

void xs_extents_init(struct xs_extents *extents, const struct xs_caps *caps, int handle_types,
                     bool rdma)
{
    memset(extents, 0, sizeof(*extents));
    extents->caps = caps;
    extents->rdma = rdma;
    atomic_store(&extents->handle_types, handle_types);
    xs_slab_init(&extents->slab, sizeof(struct xs_extent));
    for (unsigned i = 0; i < XS_EXTENT_SIZES; i++)
        xs_list_init(&extents->idle[i]);
}

void xs_extents_destroy(struct xs_extents *extents)
{
    xs_slab_destroy(&extents->slab);
}

/* The codes by which drivers refuse a handle type (report R63). */
static bool is_type_refusal(xs_cu_result code)
{
    return code == XS_CUDA_ERROR_NOT_PERMITTED || code == XS_CUDA_ERROR_NOT_SUPPORTED ||
           code == XS_CUDA_ERROR_INVALID_VALUE || code == XS_CUDA_ERROR_INVALID_DEVICE;
}

static int without_best_type(int types)
{
    return types & XS_CU_HANDLE_FABRIC ? types & ~XS_CU_HANDLE_FABRIC : XS_CU_HANDLE_NONE;
}

xs_cu_result xs_extent_create(struct xs_extents *extents, size_t bytes, xs_cu_mem *mem)
{
    struct xs_cu_alloc_prop prop = {.type = XS_CU_ALLOCATION_PINNED,
                                    .location = {XS_CU_LOCATION_DEVICE, extents->caps->device}};
    prop.alloc_flags.gpu_direct_rdma_capable = extents->rdma;
    int wanted = atomic_load(&extents->handle_types), types = wanted;
    for (;; types = without_best_type(types)) {
        prop.requested_handle_types = types;
        xs_cu_result code = xs_cu_mem_create(mem, bytes, &prop, 0);
        if (is_type_refusal(code) && types != XS_CU_HANDLE_NONE)
            continue;
        if (!code && types != wanted) /* refused without any type too: then it was not the type */
            atomic_store(&extents->handle_types, types);
        return code;
    }
}

struct xs_extent *xs_extent_new(struct xs_extents *extents, size_t bytes)
{
    struct xs_extent *extent = xs_slab_get(&extents->slab);
    if (!extent)
        return NULL;
    xs_list_init(&extent->link);
    extent->bytes = bytes;
    return extent;
}

void xs_extent_delete(struct xs_extents *extents, struct xs_extent *extent)
{
    xs_list_remove(&extent->link);
    xs_slab_put(&extents->slab, extent);
}

static unsigned size_index(const struct xs_extents *extents, size_t bytes)
{
    return (unsigned)xs_min(xs_log2(bytes / extents->caps->granule), XS_EXTENT_SIZES - 1);
}

void xs_extent_put_idle(struct xs_extents *extents, struct xs_extent *extent)
{
    extent->va = 0;
    xs_list_push_back(&extents->idle[size_index(extents, extent->bytes)], &extent->link);
    extents->idle_bytes += extent->bytes;
}

void xs_extent_take_idle(struct xs_extents *extents, struct xs_extent *extent)
{
    xs_list_remove(&extent->link);
    extents->idle_bytes -= extent->bytes;
}

struct xs_extent *xs_extent_largest_idle(struct xs_extents *extents, size_t max_bytes)
{
    if (!extents->idle_bytes || max_bytes < extents->caps->granule)
        return NULL;
    for (unsigned i = size_index(extents, max_bytes) + 1; i-- > 0;) {
        struct xs_extent *best = NULL;
        XS_LIST_FOR_EACH(link, &extents->idle[i]) {
            struct xs_extent *e = XS_CONTAINER_OF(link, struct xs_extent, link);
            if (e->bytes <= max_bytes && (!best || e->bytes > best->bytes))
                best = e;
        }
        if (best)
            return best;
    }
    return NULL;
}

struct xs_extent *xs_extent_smallest_idle(struct xs_extents *extents, size_t min_bytes)
{
    if (!extents->idle_bytes)
        return NULL;
    for (unsigned i = size_index(extents, min_bytes); i < XS_EXTENT_SIZES; i++) {
        struct xs_extent *best = NULL;
        XS_LIST_FOR_EACH(link, &extents->idle[i]) {
            struct xs_extent *e = XS_CONTAINER_OF(link, struct xs_extent, link);
            if (e->bytes >= min_bytes && (!best || e->bytes < best->bytes))
                best = e;
        }
        if (best)
            return best;
    }
    return NULL;
}
