/*
 * Extents: a device's physical memory, one cuMemCreate handle each, the unit of mapping. They belong
 * to the device, not to a stream, pool or segment: any extent can back any address.
 *
 * The records are guarded by the device's HEAP lock; the two calls to the driver take no lock at all.
 */
#ifndef XS_VMM_EXTENT_H
#define XS_VMM_EXTENT_H

#include <stdatomic.h>

#include "base/base.h"
#include "base/list.h"
#include "base/meta.h"
#include "driver/caps.h"
#include "driver/cuda_abi.h"

struct xs_extent {
    struct xs_list link; /* idle: in its size's list; in a growth: in the plan; else alone */
    xs_cu_mem mem;
    size_t bytes;
    xs_cu_ptr va;           /* where it is mapped; 0: idle */
    xs_cu_ptr target;       /* in a growth: where it is going to be mapped */
    struct xs_block *block; /* in a growth: the block it is taken from; a hint while planning */
    uint32_t stale;         /* places where it is still mapped besides (core/stale.h) */
};

/* Idle extents by floor(log2(granules)). */
#define XS_EXTENT_SIZES 32

struct xs_extents {
    const struct xs_caps *caps;
    bool rdma;
    _Atomic int handle_types; /* what creation asks for; a refusal lowers it for good */
    /* Guarded by HEAP. */
    struct xs_slab slab;
    struct xs_list idle[XS_EXTENT_SIZES];
    size_t idle_bytes;
};

/* handle_types: a set of XS_CU_HANDLE_*. */
void xs_extents_init(struct xs_extents *extents, const struct xs_caps *caps, int handle_types,
                     bool rdma);
void xs_extents_destroy(struct xs_extents *extents);

/* Calls the driver. A handle type that it refuses is dropped, once and for good: fabric, then file
 * descriptor; out of memory is never taken for such a refusal. */
xs_cu_result xs_extent_create(struct xs_extents *extents, size_t bytes, xs_cu_mem *mem);

/* A record for an extent of that size, not yet created. NULL: no host memory. */
struct xs_extent *xs_extent_new(struct xs_extents *extents, size_t bytes);
void xs_extent_delete(struct xs_extents *extents, struct xs_extent *extent);

void xs_extent_put_idle(struct xs_extents *extents, struct xs_extent *extent);
void xs_extent_take_idle(struct xs_extents *extents, struct xs_extent *extent);
/* The largest idle extent of at most `max_bytes`, or NULL. */
struct xs_extent *xs_extent_largest_idle(struct xs_extents *extents, size_t max_bytes);
/* The smallest idle extent of at least `min_bytes`, or NULL. */
struct xs_extent *xs_extent_smallest_idle(struct xs_extents *extents, size_t min_bytes);

#endif
