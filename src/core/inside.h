/* Which live block an address lies in, and what backs a live block: for those who ask about any address. Not
 * for a fast path: the blocks of a segment are walked under HEAP. */
#ifndef XS_CORE_INSIDE_H
#define XS_CORE_INSIDE_H

#include "core/device.h"

/* Where an address lies. */
struct xs_inside {
    struct xs_device *dev; /* whose address space holds it; NULL: no device's */
    xs_cu_ptr va;          /* of the live block */
    size_t requested;      /* its bytes; 0: no live block is there */
};

struct xs_inside xs_inside_find(xs_cu_ptr va);

/* A piece of physical memory behind a block. */
struct xs_backing {
    xs_cu_mem mem;
    xs_cu_ptr va;
    size_t bytes;
};

/* The extents behind the live block at `va`, in order of address, as many as fit into `out`; they stay where
 * they are as long as the block lives. Returns how many there are, 0 where no such block is backed by extents. */
size_t xs_inside_backing(struct xs_device *dev, xs_cu_ptr va, struct xs_backing *out, size_t max);

#endif
