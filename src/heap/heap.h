/*
 * A heap: segments cut into blocks. Finds the best fit, splits, coalesces; knows neither where memory
 * comes from nor when to give up. Expandable heaps have holes, classic ones do not.
 *
 * Not thread-safe: the device's HEAP lock is held by the caller. Makes no driver call. Invariants are
 * numbered in docs/invariants.md and checked by heap_check.h.
 */
#ifndef XS_HEAP_HEAP_H
#define XS_HEAP_HEAP_H

#include "base/base.h"
#include "base/bins.h"
#include "base/bit_set.h"
#include "base/list.h"
#include "base/meta.h"
#include "heap/block.h"
#include "vmm/fence.h"
#include "vmm/segment.h"
#include "vmm/stream.h"

struct xs_heap {
    void *owner;             /* for those above: the device */
    struct xs_slab *records; /* struct xs_block, shared by the device's heaps */
    struct xs_list segments; /* by address of the record: order of creation */
    struct xs_list holes;    /* HOLE blocks, newest first */
    struct xs_bins *free; /* FREE blocks by stream index; [0]: idle ones. Pages come when touched */
    uint32_t trees;       /* indexes in use: [0, trees) */
    struct xs_bit_set filled; /* trees that have a block */
    size_t free_bytes;
    size_t mapped_bytes;  /* for those above: its extents, or its classic segments */
    uint32_t searches;    /* classic: the clock of garbage collection */
    uint32_t pool;        /* for those above: the index of the pool it is of */
    uint32_t pool_number; /* likewise: never another's */
    bool whole;           /* blocks are whole granules, and neither cut nor joined */
};

/* False: no host memory. */
bool xs_heap_init(struct xs_heap *heap, struct xs_slab *records);
/* All segments are gone. */
void xs_heap_destroy(struct xs_heap *heap);

/* Makes sure that `count` blocks can be made; the functions below that cut need it: two for a take or a
 * carve, one for a segment. False: no host memory. */
static inline bool xs_heap_reserve(struct xs_heap *heap, size_t count)
{
    return xs_slab_reserve(heap->records, count);
}

/* The segment becomes one hole (expandable) or one BUSY block (classic), which is returned. */
struct xs_block *xs_heap_add_segment(struct xs_heap *heap, struct xs_segment *segment,
                                     enum xs_block_state state);
/* The segment's only block is given. */
void xs_heap_remove_segment(struct xs_heap *heap, struct xs_block *block);

/*
 * Best fit among what `stream` may use at once: its own free blocks and the idle ones. *va: where in the
 * block the request goes, a multiple of `align` (a power of two; 1: any place) if one of the few best
 * fits allows it, else the block's beginning.
 */
struct xs_block *xs_heap_find(const struct xs_heap *heap, size_t bytes, size_t align,
                              const struct xs_stream *stream, xs_cu_ptr *va);
/* The same, but only a block that is the request's size and aligned; NULL: there is none. */
struct xs_block *xs_heap_find_exact(const struct xs_heap *heap, size_t bytes, size_t align,
                                    const struct xs_stream *stream);
/* [va, va + bytes) of a FREE block becomes LIVE for `stream`; the rest of it stays free. */
struct xs_block *xs_heap_take(struct xs_heap *heap, struct xs_block *block, xs_cu_ptr va,
                              size_t bytes, struct xs_stream *stream);
/* A LIVE or BUSY block becomes FREE and joins its neighbours; stream NULL: idle. Returns the result. */
struct xs_block *xs_heap_put(struct xs_heap *heap, struct xs_block *block, struct xs_stream *stream,
                             uint64_t stamp);

/* Cuts [va, va + bytes) out of a FREE or HOLE block as a block of its own, which becomes BUSY. It keeps
 * stream and stamp of a free block, and stream is NULL and stamp 0 for a hole's. */
struct xs_block *xs_heap_carve(struct xs_heap *heap, struct xs_block *block, xs_cu_ptr va,
                               size_t bytes);
/* The stamp of a BUSY block has passed: it needs no stream any more. */
void xs_heap_forget_stream(struct xs_block *block);
/* A BUSY block becomes a hole and joins neighbouring holes. Returns the result. */
struct xs_block *xs_heap_put_hole(struct xs_heap *heap, struct xs_block *block);
/* Joins `next`, the right neighbour, to `block`; both BUSY. The stamps of both must have passed. */
void xs_heap_join_busy(struct xs_heap *heap, struct xs_block *block, struct xs_block *next);
/* A BUSY block becomes LIVE for `stream`, whole. */
void xs_heap_make_live(struct xs_block *block, struct xs_stream *stream);
/* A BUSY block is `stream`'s, or nobody's, and serves others only once the stamp has passed too. */
void xs_heap_stamp(struct xs_block *block, struct xs_stream *stream, uint64_t stamp);
/* A LIVE block belongs to the order of another stream from now on. */
void xs_heap_set_stream(struct xs_block *block, struct xs_stream *stream);
/* Cuts a BUSY block after `bytes`; returns the rest, BUSY too. Needs one record. */
struct xs_block *xs_heap_cut_busy(struct xs_heap *heap, struct xs_block *block, size_t bytes);

/* Blocks whose stamps have passed become idle and join their neighbours, but for those of `except`,
 * which may use them anyway (NULL: no exception). Returns whether any has. */
bool xs_heap_settle(struct xs_heap *heap, const struct xs_fences *fences,
                    const struct xs_stream *except);

/* Free blocks of other streams that were freed by `epoch` become `stream`'s, with its stamp: what they wait
 * for comes before that stream's further work by other means. Returns whether any has. */
bool xs_heap_adopt(struct xs_heap *heap, struct xs_stream *stream, uint64_t epoch, uint64_t stamp);

static inline bool xs_block_has_passed(const struct xs_block *block, const struct xs_fences *fences)
{
    return !block->stream || xs_fence_passed(fences, block->stream, block->stamp);
}

#endif
