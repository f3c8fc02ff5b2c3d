/*
 * A block: a piece of a segment. The blocks of a segment tile it, in address order, without a gap.
 *
 *   LIVE   handed to the caller, and in the address map
 *   CACHED freed, but kept as it is in a thread's cache or the depot; still in the address map
 *   WAITING freed, and not to be reused before other streams have passed it (core/waiting.h)
 *   FREE   mapped, in its heap's tree. With a stream: usable by that stream at once, by others and for
 *          unmapping once the stamp has passed (vmm/fence.h). Without: idle, usable by all.
 *   STALE  its extent serves its stream elsewhere, and is still mapped here for work that the GPU has not done
 *          yet (core/stale.h); of no use to anybody, and a hole once the stamp has passed
 *   HOLE   not mapped; whole granules
 *   BUSY   taken out by a growth that is under way; nobody else touches it
 */
#ifndef XS_HEAP_BLOCK_H
#define XS_HEAP_BLOCK_H

#include "base/addr_map.h"
#include "base/base.h"
#include "base/list.h"
#include "base/tree.h"
#include "heap/use.h"
#include "vmm/segment.h"
#include "vmm/stream.h"

enum xs_block_state {
    XS_BLOCK_LIVE,
    XS_BLOCK_CACHED,
    XS_BLOCK_WAITING,
    XS_BLOCK_FREE,
    XS_BLOCK_STALE,
    XS_BLOCK_HOLE,
    XS_BLOCK_BUSY
};

/* What a block was allocated for, as its thread knew when it was last on a slow path. */
struct xs_origin {
    uint32_t tag;      /* stats/tag.h */
    uint32_t since_ms; /* xs_clock_coarse_ms() */
};

/* Three cache lines: the first is all that a cached allocation or free touches, and the second what finding,
 * cutting and joining blocks needs besides. */
struct xs_block {
    struct xs_addr_node addr; /* LIVE and CACHED: its place in the address map */
    _Atomic uint8_t state;    /* enum xs_block_state; LIVE <-> CACHED without the HEAP lock */
    uint8_t device;           /* ordinal */
    bool cacheable;           /* LIVE: may be kept in a thread's cache when it is freed */
    union {
        uint32_t age;  /* FREE, classic: the heap's search count when it became free */
        int32_t ahead; /* CACHED: cache lines from here to the one after the next; a hint */
    };
    uint64_t key;     /* LIVE and CACHED: size and stream, see cache/cache.h */
    size_t requested; /* LIVE: bytes that were asked for */
    union {
        struct xs_block *next_cached; /* CACHED: the next one in its bin */
        struct xs_origin origin;      /* LIVE and WAITING: whose it is */
    };
    uint64_t stamp; /* FREE and CACHED: epoch of the latest free in it */
    struct xs_stream
        *stream; /* LIVE and CACHED: allocated for it. FREE, STALE: freed on it; NULL: idle */

    struct xs_tree_node node; /* size and va of the block; FREE: its place in a tree */
    struct xs_list by_addr;   /* neighbours in the segment */
    struct xs_segment *segment;
    struct xs_heap *heap;

    struct xs_list link;      /* HOLE: among the heap's holes; WAITING, STALE: among those */
    struct xs_use *uses;      /* LIVE and WAITING: other streams that use it */
    struct xs_extent *extent; /* STALE: what is still mapped here */
};

_Static_assert(offsetof(struct xs_block, node) == XS_CACHE_LINE,
               "the hot fields fill one cache line");

static inline enum xs_block_state xs_block_state_of(const struct xs_block *block)
{
    return (enum xs_block_state)atomic_load_explicit(&block->state, memory_order_relaxed);
}

static inline void xs_block_set_state(struct xs_block *block, enum xs_block_state state)
{
    atomic_store_explicit(&block->state, (uint8_t)state, memory_order_relaxed);
}

static inline struct xs_block *xs_block_of_node(struct xs_tree_node *node)
{
    return node ? XS_CONTAINER_OF(node, struct xs_block, node) : NULL;
}

static inline struct xs_block *xs_block_of_link(struct xs_list *link)
{
    return XS_CONTAINER_OF(link, struct xs_block, link);
}

static inline struct xs_block *xs_block_of_place(struct xs_list *place)
{
    return XS_CONTAINER_OF(place, struct xs_block, by_addr);
}

static inline xs_cu_ptr xs_block_va(const struct xs_block *block)
{
    return block->node.va;
}

/* The same of a LIVE or CACHED block, out of the one cache line that a hit touches. */
static inline xs_cu_ptr xs_block_address(const struct xs_block *block)
{
    return atomic_load_explicit(&block->addr.va, memory_order_relaxed);
}

static inline size_t xs_block_bytes(const struct xs_block *block)
{
    return block->node.size;
}

static inline xs_cu_ptr xs_block_end(const struct xs_block *block)
{
    return block->node.va + block->node.size;
}

/*
 * Whether free memory of the two streams (NULL: idle) may be one block: of one stream, or one of them idle. What
 * was freed in the order of all streams stays as it is: it serves nobody before it is idle, so it must not take
 * neighbours with it, nor wait for theirs.
 */
static inline bool xs_block_streams_join(const struct xs_stream *a, const struct xs_stream *b)
{
    if ((a && a->key.handle == XS_STREAM_ALL) || (b && b->key.handle == XS_STREAM_ALL))
        return false;
    return a == b || !a || !b;
}

/* The neighbour before or after it in the segment, or NULL. */
static inline struct xs_block *xs_block_prev(const struct xs_block *block)
{
    struct xs_list *place = block->by_addr.prev;
    return place == &block->segment->blocks ? NULL : xs_block_of_place(place);
}

static inline struct xs_block *xs_block_next(const struct xs_block *block)
{
    struct xs_list *place = block->by_addr.next;
    return place == &block->segment->blocks ? NULL : xs_block_of_place(place);
}

/* The only block of its segment. */
static inline bool xs_block_is_whole_segment(const struct xs_block *block)
{
    return block->by_addr.prev == block->by_addr.next;
}

#endif
