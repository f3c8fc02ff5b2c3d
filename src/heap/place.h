/*
 * Where an expandable heap can grow: the window of address space that needs the fewest new bytes.
 *
 * Free blocks and holes that touch form a run; every window of the request's size in it could serve,
 * and costs what it covers of holes, in whole granules. The unmapped tail of a segment is such a hole.
 *
 *     LIVE | FREE 5 | hole 8 | FREE 3 | LIVE         a request of 10 fits three ways:
 *          [   5        5   ]                        5 of the hole
 *                  [    7        3  ]                7
 *            [ 2        8   ]                        8
 *
 * Only windows that begin or end at the border of a block are looked at, or as little inside of it as the
 * alignment asks for: moving a window between two such places never lowers its cost below that of both.
 */
#ifndef XS_HEAP_PLACE_H
#define XS_HEAP_PLACE_H

#include "base/base.h"
#include "heap/block.h"
#include "heap/heap.h"
#include "vmm/fence.h"

struct xs_place {
    struct xs_block *first; /* where the window begins */
    xs_cu_ptr va;           /* ... inside it */
    size_t new_bytes;       /* of holes, whole granules */
};

/* False: no window is large enough. */
bool xs_place_find(const struct xs_heap *heap, const struct xs_fences *fences, size_t bytes,
                   size_t align, const struct xs_stream *stream, struct xs_place *place);

/* The same among windows that end in the unmapped tail of a segment, where extents fit that are larger than
 * what is missing. */
bool xs_place_find_at_tail(const struct xs_heap *heap, const struct xs_fences *fences, size_t bytes,
                           size_t align, const struct xs_stream *stream, struct xs_place *place);

#endif
