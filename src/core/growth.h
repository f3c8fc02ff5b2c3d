/*
 * One growth: an expandable heap gets room for a request that no free block can serve.
 *
 *   plan     under HEAP: choose the window, the extents that will back its holes, and take both out
 *   carry out without HEAP: create, unmap, map, open; undone in reverse where any call fails
 *   publish  under HEAP: the window is one live block, the moved extents' old places are holes
 *
 * The missing bytes come from idle extents, then from extents that lie wholly inside free blocks whose
 * fences have passed, then from such of the stream itself that the GPU is still using, which are mapped twice meanwhile
 * (core/stale.h), then from new ones. Many small extents are not moved but traded: released, and one
 * large one created instead. That is cheaper than mapping each again, and cheaper still next time. One that is larger
 * than memory which comes and goes should be kept in is traded for smaller ones. What goes, goes first, so that trading
 * never holds more memory than before.
 *
 * The caller holds GROWTH and has made the context current.
 */
#ifndef XS_CORE_GROWTH_H
#define XS_CORE_GROWTH_H

#include "core/alloc.h"
#include "core/device.h"
#include "core/movable.h"
#include "heap/place.h"

struct xs_growth {
    struct xs_device *dev;
    struct xs_heap *heap; /* the one that grows */
    struct xs_stream *stream;
    size_t bytes; /* rounded request */

    struct xs_block *first; /* the window's leftmost BUSY block */
    struct xs_block *last;
    xs_cu_ptr va;           /* where the request will begin */
    struct xs_list moved;   /* mapped extents on their way, each taken out as a BUSY block */
    struct xs_list aliased; /* as moved, but they stay mapped there as well */
    struct xs_list idle;    /* extents that were idle */
    struct xs_list fresh;   /* extents to be created */
    struct xs_list traded;  /* as moved, but to be released */
    /* After a failure, what the driver would not undo: */
    struct xs_list kept;        /* fresh extents that it did not take back */
    struct xs_list stuck;       /* idle and moved ones that it did not unmap from their targets */
    struct xs_list stuck_fresh; /* fresh ones, likewise */
    struct xs_list stuck_alias; /* aliased ones, likewise */
    bool may_alias;
    bool gathered;
    uint64_t alias_stamp;      /* the latest free in what is aliased */
    size_t fresh_bytes;        /* to be created, less what is traded for it */
    size_t new_bytes;          /* what the window lacks */
    struct xs_movable movable; /* extents that could move, while planning */
};

/*
 * Plans. may_alias: the stream's work is done in order, by it alone. On error nothing has changed. OUT_OF_MEMORY: the
 * limit leaves no room. NOT_SUPPORTED: no segment has a window that large; add one.
 */
enum xseg_result xs_growth_plan(struct xs_growth *growth, const struct xs_request *request,
                                bool may_alias);
/* Takes a plan back. Under HEAP. */
void xs_growth_cancel(struct xs_growth *growth);
/* Carries the plan out and hands the block out; on error all is as before the plan. Not under HEAP. */
enum xseg_result xs_growth_run(struct xs_growth *growth, const struct xs_request *request,
                               struct xs_block **block);

#endif
