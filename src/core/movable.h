/*
 * Extents that lie wholly inside free blocks of expandable heaps, but for those of pools that are held: what can be
 * mapped elsewhere without touching anything live. Found anew for each growth or trim, under HEAP throughout.
 */
#ifndef XS_CORE_MOVABLE_H
#define XS_CORE_MOVABLE_H

#include "core/device.h"

struct xs_movable_set {
    size_t bytes;
    uint32_t sizes;                          /* which of the following lists are in use */
    struct xs_list extents[XS_EXTENT_SIZES]; /* by floor(log2(granules)) */
};

struct xs_movable {
    struct xs_movable_set passed; /* can be unmapped */
    struct xs_movable_set
        own;              /* the GPU may be at them, but the stream that asks comes after that */
    size_t waiting_bytes; /* of the rest */
};

void xs_movable_init(struct xs_movable *movable);
/* stream: whose own extents may be mapped a second time; NULL: nobody's. */
void xs_movable_gather(struct xs_movable *movable, struct xs_device *dev,
                       const struct xs_stream *stream);
/* Forgets those that were not taken. */
void xs_movable_end(struct xs_movable *movable);

/* The largest of at most, the smallest of at least so many bytes; NULL: none. */
struct xs_extent *xs_movable_largest(const struct xs_movable_set *set, size_t max_bytes);
struct xs_extent *xs_movable_smallest(const struct xs_movable_set *set, size_t min_bytes);

/* Cuts it out of its free block: extent->block is its own block then, BUSY. Two records are reserved. */
void xs_movable_take(struct xs_movable_set *set, struct xs_extent *extent);

#endif
