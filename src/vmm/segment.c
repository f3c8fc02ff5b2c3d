#include "vmm/segment.h"

#include "base/error.h"
#include "base/meta.h"
#include "driver/driver.h"

/* The record and behind it its map, in one mapping. So much of it is wanted at once: a first read and then a write of each
 * page would cost two faults. */
#define FIRST_BYTES ((size_t)16 * XS_KIB)

static size_t record_bytes(size_t bytes, size_t granule)
{
    return xs_max(sizeof(struct xs_segment) + bytes / granule * sizeof(struct xs_extent *),
                  FIRST_BYTES);
}

static enum xseg_result reserve_address(const struct xs_caps *caps, size_t want, size_t least,
                                        xs_cu_ptr *base, size_t *bytes)
{
    for (*bytes = want;; *bytes = xs_max(least, xs_round_up(*bytes / 2, caps->granule))) {
        xs_cu_result code = xs_cu_mem_reserve(base, *bytes, 0, 0, 0);
        if (code == XS_CUDA_SUCCESS || *bytes == least)
            return xs_driver_result(code);
    }
}

static void init_record(struct xs_segment *segment, xs_cu_ptr base, size_t bytes, size_t granule)
{
    xs_list_init(&segment->link);
    xs_list_init(&segment->blocks);
    segment->base = base;
    segment->bytes = bytes;
    segment->granule = granule;
}

enum xseg_result xs_segment_reserve(const struct xs_caps *caps, size_t want, size_t least,
                                    struct xs_segment **out)
{
    least = xs_round_up(least, caps->granule);
    want = xs_max(least, xs_round_up(want, caps->granule));
    xs_cu_ptr base;
    size_t bytes;
    enum xseg_result e = reserve_address(caps, want, least, &base, &bytes);
    if (e)
        return e;
    struct xs_segment *segment = xs_meta_map_sparse(record_bytes(bytes, caps->granule));
    if (!segment) {
        xs_cu_mem_unreserve(base, bytes);
        return xs_fail(XSEG_ERROR_HOST_MEMORY, "no host memory for a segment's records");
    }
    xs_meta_use(segment, FIRST_BYTES);
    init_record(segment, base, bytes, caps->granule);
    segment->extent_at = (struct xs_extent **)(segment + 1);
    *out = segment;
    return XSEG_OK;
}

void xs_segment_unreserve(struct xs_segment *segment)
{
    xs_cu_mem_unreserve(segment->base, segment->bytes);
    xs_meta_unmap_sparse(segment, record_bytes(segment->bytes, segment->granule), FIRST_BYTES);
}

struct xs_segment *xs_segment_new_classic(xs_cu_ptr base, size_t bytes)
{
    struct xs_segment *segment = xs_meta_map(sizeof(*segment));
    if (segment)
        init_record(segment, base, bytes, bytes);
    return segment;
}

void xs_segment_delete_classic(struct xs_segment *segment)
{
    xs_meta_unmap(segment, sizeof(*segment));
}

xs_cu_result xs_segment_map(xs_cu_ptr va, const struct xs_extent *extent)
{
    return xs_cu_mem_map(va, extent->bytes, 0, extent->mem, 0);
}

xs_cu_result xs_segment_unmap(xs_cu_ptr va, size_t bytes)
{
    return xs_cu_mem_unmap(va, bytes);
}

xs_cu_result xs_segment_open(const struct xs_caps *caps, xs_cu_ptr va, size_t bytes)
{
    struct xs_cu_access_desc access[XS_PEER_LIMIT + 1];
    size_t n = 0;
    access[n++] =
        (struct xs_cu_access_desc){{XS_CU_LOCATION_DEVICE, caps->device}, XS_CU_ACCESS_READWRITE};
    for (uint64_t left = caps->peers; left; left &= left - 1)
        access[n++] = (struct xs_cu_access_desc){
            {XS_CU_LOCATION_DEVICE, (int)xs_log2(left & -left)}, XS_CU_ACCESS_READWRITE};
    return xs_cu_mem_set_access(va, bytes, access, n);
}

static void fill(struct xs_segment *segment, xs_cu_ptr va, size_t bytes, struct xs_extent *extent)
{
    size_t first = (va - segment->base) / segment->granule;
    for (size_t i = 0; i < bytes / segment->granule; i++)
        segment->extent_at[first + i] = extent;
}

void xs_segment_attach(struct xs_segment *segment, struct xs_extent *extent, xs_cu_ptr va)
{
    extent->va = va;
    fill(segment, va, extent->bytes, extent);
}

void xs_segment_detach(struct xs_segment *segment, struct xs_extent *extent)
{
    fill(segment, extent->va, extent->bytes, NULL);
    extent->va = 0;
}
