/*
 * A segment: one range of address space, and which extent backs which granule of it.
 *
 *     base                                                        base + bytes
 *      | extent A | A | extent B |  hole  | extent C | C | C | C |   hole ...  |
 *
 * Address space is not memory: a segment is reserved far larger than it will ever be full, and is
 * never moved, so that it can grow anywhere inside. In classic mode a segment is one cuMemAlloc.
 *
 * The records are guarded by the device's HEAP lock; calls to the driver are made without it.
 */
#ifndef XS_VMM_SEGMENT_H
#define XS_VMM_SEGMENT_H

#include "base/base.h"
#include "base/list.h"
#include "driver/caps.h"
#include "driver/cuda_abi.h"
#include "vmm/extent.h"

struct xs_segment {
    struct xs_list link;   /* in its heap */
    struct xs_list blocks; /* by address, without a gap; the heap's business */
    xs_cu_ptr base;
    size_t bytes;
    size_t granule;
    struct xs_extent **extent_at; /* one a granule, NULL: hole. NULL in classic mode */
};

/*
 * Reserves `want` bytes, or where that is refused half of it and so on, but at least `least`; both
 * are rounded up to granules. The record is made by this call and ended by xs_segment_unreserve().
 * Errors: OUT_OF_MEMORY (address space), HOST_MEMORY, DRIVER.
 */
enum xseg_result xs_segment_reserve(const struct xs_caps *caps, size_t want, size_t least,
                                    struct xs_segment **out);
/* Nothing is mapped in it. A refusal by the driver is recorded; the record goes all the same. */
void xs_segment_unreserve(struct xs_segment *segment);

/* A record for a cuMemAlloc segment; the memory itself is the caller's business. */
struct xs_segment *xs_segment_new_classic(xs_cu_ptr base, size_t bytes);
void xs_segment_delete_classic(struct xs_segment *segment);

/* The driver's part. */
xs_cu_result xs_segment_map(xs_cu_ptr va, const struct xs_extent *extent);
xs_cu_result xs_segment_unmap(xs_cu_ptr va, size_t bytes);
xs_cu_result xs_segment_open(const struct xs_caps *caps, xs_cu_ptr va, size_t bytes);

/* The records' part. */
void xs_segment_attach(struct xs_segment *segment, struct xs_extent *extent, xs_cu_ptr va);
void xs_segment_detach(struct xs_segment *segment, struct xs_extent *extent);

static inline struct xs_extent *xs_segment_extent_at(const struct xs_segment *segment, xs_cu_ptr va)
{
    return segment->extent_at[(va - segment->base) / segment->granule];
}

#endif
