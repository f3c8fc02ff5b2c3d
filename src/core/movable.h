/*
 * Extents that lie wholly inside free blocks of expandable heaps, but for those of pools that are held: what can be
 * unmapped without touching anything live. Found anew for each growth or trim, under HEAP throughout.
 */
#ifndef XS_CORE_MOVABLE_H
#define XS_CORE_MOVABLE_H

#include "core/device.h"

struct xs_movable {
    size_t bytes;                            /* of extents whose fence has passed */
    size_t waiting_bytes;                    /* of others */
    uint32_t sizes;                          /* which of the following lists are in use */
    struct xs_list extents[XS_EXTENT_SIZES]; /* fence passed; by floor(log2(granules)) */
};

void xs_movable_init(struct xs_movable *movable);
void xs_movable_gather(struct xs_movable *movable, struct xs_device *dev);
/* Forgets those that were not taken. */
void xs_movable_end(struct xs_movable *movable);

/* The largest of at most, the smallest of at least so many bytes; NULL: none. */
struct xs_extent *xs_movable_largest(struct xs_movable *movable, size_t max_bytes);
struct xs_extent *xs_movable_smallest(struct xs_movable *movable, size_t min_bytes);

/* Cuts it out of its free block: extent->block is its own block then, BUSY. Two records are reserved. */
void xs_movable_take(struct xs_movable *movable, struct xs_extent *extent);

#endif
