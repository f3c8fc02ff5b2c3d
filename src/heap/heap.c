#include "heap/heap.h"

#include <string.h>

_Static_assert(XS_STREAM_INDEX_LIMIT <= XS_BIT_SET_SIZE, "a bit for each tree");

#define BINS_BYTES (XS_STREAM_INDEX_LIMIT * sizeof(struct xs_bins))

static void use_trees(struct xs_heap *heap, uint32_t trees)
{
    xs_meta_use(&heap->free[heap->trees], (trees - heap->trees) * sizeof(struct xs_bins));
    heap->trees = trees;
}

bool xs_heap_init(struct xs_heap *heap, struct xs_slab *records)
{
    memset(heap, 0, sizeof(*heap));
    heap->records = records;
    xs_list_init(&heap->segments);
    xs_list_init(&heap->holes);
    heap->free = xs_meta_map_sparse(BINS_BYTES);
    if (heap->free)
        use_trees(heap, 1);
    return heap->free != NULL;
}

void xs_heap_destroy(struct xs_heap *heap)
{
    if (heap->free)
        xs_meta_unmap_sparse(heap->free, BINS_BYTES, heap->trees * sizeof(struct xs_bins));
    heap->free = NULL;
}

/* ---- records -------------------------------------------------------------------------------- */

static struct xs_block *new_block(struct xs_heap *heap, struct xs_segment *segment, xs_cu_ptr va,
                                  size_t bytes)
{
    struct xs_block *block = xs_slab_get_unset(heap->records); /* reserved by the caller */
    /* All but the node of the address map, which lookups may still be reading. */
    memset((char *)block + sizeof(block->addr), 0, sizeof(*block) - sizeof(block->addr));
    xs_list_init(&block->by_addr);
    xs_list_init(&block->link);
    block->heap = heap;
    block->segment = segment;
    block->node.va = va;
    block->node.size = bytes;
    xs_block_set_state(block, XS_BLOCK_BUSY);
    return block;
}

static void delete_block(struct xs_heap *heap, struct xs_block *block)
{
    xs_list_remove(&block->by_addr);
    xs_slab_put(heap->records, block);
}

static void set_stream(struct xs_block *block, struct xs_stream *stream, uint64_t stamp)
{
    if (stream)
        stream->refs++;
    if (block->stream)
        block->stream->refs--;
    block->stream = stream;
    block->stamp = stream ? stamp : 0;
}

/* Cuts `block` at `va`; returns the right part, in the same state and with the same stamp, but in no
 * tree and no list. */
static struct xs_block *split(struct xs_heap *heap, struct xs_block *block, xs_cu_ptr va)
{
    struct xs_block *right = new_block(heap, block->segment, va, xs_block_end(block) - va);
    block->node.size = va - xs_block_va(block);
    xs_block_set_state(right, xs_block_state_of(block));
    right->age = block->age;
    set_stream(right, block->stream, block->stamp);
    xs_list_push_front(&block->by_addr, &right->by_addr);
    return right;
}

/* The right neighbour's bytes become `block`'s; neither is in a tree or list. */
static void join(struct xs_heap *heap, struct xs_block *block, struct xs_block *right)
{
    if (!block->stream)
        set_stream(block, right->stream, right->stamp);
    else if (right->stream && right->stamp > block->stamp)
        block->stamp = right->stamp;
    block->node.size += xs_block_bytes(right);
    set_stream(right, NULL, 0);
    delete_block(heap, right);
}

/* ---- free blocks ---------------------------------------------------------------------------- */

static uint32_t tree_index(const struct xs_block *block)
{
    return block->stream ? block->stream->index : 0;
}

static void insert_free(struct xs_heap *heap, struct xs_block *block)
{
    uint32_t index = tree_index(block);
    if (xs_unlikely(index >= heap->trees))
        use_trees(heap, index + 1);
    xs_block_set_state(block, XS_BLOCK_FREE);
    if (!heap->free[index].count)
        xs_bit_set_add(&heap->filled, index);
    xs_bins_insert(&heap->free[index], &block->node);
    heap->free_bytes += xs_block_bytes(block);
}

static void remove_free(struct xs_heap *heap, struct xs_block *block)
{
    uint32_t index = tree_index(block);
    xs_bins_remove(&heap->free[index], &block->node);
    if (!heap->free[index].count)
        xs_bit_set_remove(&heap->filled, index);
    heap->free_bytes -= xs_block_bytes(block);
    xs_block_set_state(block, XS_BLOCK_BUSY);
}

static void change_free(struct xs_heap *heap, struct xs_block *block, xs_cu_ptr va, size_t bytes)
{
    heap->free_bytes += bytes - xs_block_bytes(block);
    xs_bins_change(&heap->free[tree_index(block)], &block->node, bytes, va);
}

/* Two streams' free blocks stay apart until one is idle; the joint block carries the other's stamp. */
static bool can_join_free(const struct xs_heap *heap, const struct xs_block *block,
                          const struct xs_block *neighbour)
{
    return neighbour && xs_block_state_of(neighbour) == XS_BLOCK_FREE && !heap->whole &&
           xs_block_streams_join(block->stream, neighbour->stream);
}

/* A free neighbour on the same stream takes the block's bytes, and stays in its tree. */
static struct xs_block *absorb(struct xs_heap *heap, struct xs_block *into, struct xs_block *block)
{
    xs_cu_ptr va = xs_min(xs_block_va(into), xs_block_va(block));
    into->stamp = xs_max(into->stamp, block->stamp);
    into->age = block->age;
    change_free(heap, into, va, xs_block_bytes(into) + xs_block_bytes(block));
    set_stream(block, NULL, 0);
    delete_block(heap, block);
    return into;
}

/* Joins a block that is in no tree with its neighbours, and enters what comes of it. */
static struct xs_block *coalesce_free(struct xs_heap *heap, struct xs_block *block)
{
    struct xs_block *prev = xs_block_prev(block), *next = xs_block_next(block);
    xs_block_set_state(block, XS_BLOCK_FREE);
    if (can_join_free(heap, block, next)) {
        if (next->stream == block->stream && !can_join_free(heap, block, prev))
            return absorb(heap, next, block);
        remove_free(heap, next);
        join(heap, block, next);
    }
    if (can_join_free(heap, block, prev)) { /* what it has joined may be of another stream */
        if (prev->stream == block->stream)
            return absorb(heap, prev, block);
        remove_free(heap, prev);
        prev->age = block->age;
        join(heap, prev, block);
        block = prev;
    }
    insert_free(heap, block);
    return block;
}

/* How many blocks, from the best fit on, are looked at for one that holds the request aligned. */
#define ALIGNED_TRIES 8

static xs_cu_ptr align_up(xs_cu_ptr va, size_t align)
{
    return (va + align - 1) & ~(xs_cu_ptr)(align - 1);
}

/* From `node`, the best fit, on. */
static struct xs_tree_node *aligned_fit(const struct xs_bins *tree, struct xs_tree_node *node,
                                        size_t bytes, size_t align)
{
    for (unsigned i = 0; node && i < ALIGNED_TRIES; i++, node = xs_bins_next(tree, node))
        if (align_up(node->va, align) + bytes <= node->va + node->size)
            return node;
    return NULL;
}

/* The stream's own block where both fit equally: an idle one may serve others too. */
static struct xs_tree_node *smaller(struct xs_tree_node *own, struct xs_tree_node *idle)
{
    return own && (!idle || own->size <= idle->size) ? own : idle;
}

struct xs_block *xs_heap_find(const struct xs_heap *heap, size_t bytes, size_t align,
                              const struct xs_stream *stream, xs_cu_ptr *va)
{
    const struct xs_bins *own = &heap->free[stream->index], *idle = &heap->free[0];
    struct xs_tree_node *in_own = own->count ? xs_bins_at_least(own, bytes, 0) : NULL;
    struct xs_tree_node *in_idle = idle->count ? xs_bins_at_least(idle, bytes, 0) : NULL;
    struct xs_tree_node *node =
        smaller(aligned_fit(own, in_own, bytes, align), aligned_fit(idle, in_idle, bytes, align));
    if (node)
        *va = align_up(node->va, align);
    else if ((node = smaller(in_own, in_idle)))
        *va = node->va;
    return xs_block_of_node(node);
}

struct xs_block *xs_heap_find_exact(const struct xs_heap *heap, size_t bytes, size_t align,
                                    const struct xs_stream *stream)
{
    struct xs_tree_node *node = xs_bins_exact(&heap->free[stream->index], bytes);
    if (!node)
        node = xs_bins_exact(&heap->free[0], bytes);
    return node && align_up(node->va, align) == node->va ? xs_block_of_node(node) : NULL;
}

/* Cuts the request off an end of a FREE block, which stays in its tree with the rest. */
static struct xs_block *cut_off(struct xs_heap *heap, struct xs_block *block, xs_cu_ptr va,
                                size_t bytes)
{
    struct xs_block *taken = new_block(heap, block->segment, va, bytes);
    bool in_front = va == xs_block_va(block);
    change_free(heap, block, in_front ? va + bytes : xs_block_va(block),
                xs_block_bytes(block) - bytes);
    xs_list_push_front(in_front ? block->by_addr.prev : &block->by_addr, &taken->by_addr);
    return taken;
}

struct xs_block *xs_heap_take(struct xs_heap *heap, struct xs_block *block, xs_cu_ptr va,
                              size_t bytes, struct xs_stream *stream)
{
    bool at_begin = va == xs_block_va(block), at_end = va + bytes == xs_block_end(block);
    block = at_begin != at_end ? cut_off(heap, block, va, bytes)
                               : xs_heap_carve(heap, block, va, bytes);
    xs_heap_make_live(block, stream);
    return block;
}

struct xs_block *xs_heap_put(struct xs_heap *heap, struct xs_block *block, struct xs_stream *stream,
                             uint64_t stamp)
{
    set_stream(block, stream, stamp);
    block->age = heap->searches;
    return coalesce_free(heap, block);
}

/* Blocks of one stream change hands: to idle, or to another stream. */
struct handover {
    const struct xs_fences
        *fences; /* idle once passed; NULL: to `stream`, whatever the fences say */
    struct xs_stream *stream;
    uint64_t epoch;
    uint64_t stamp;
};

static bool applies(const struct handover *h, const struct xs_block *block)
{
    return h->fences ? xs_block_has_passed(block, h->fences) : block->stamp <= h->epoch;
}

static bool hand_over_tree(struct xs_heap *heap, uint32_t index, const struct handover *h)
{
    bool any = false;
    struct xs_bins *tree = &heap->free[index];
    struct xs_block *block = xs_block_of_node(xs_bins_first(tree));
    while (block) {
        /* Joining takes neighbours away, so the walk goes on by key. */
        uint64_t bytes = xs_block_bytes(block), va = xs_block_va(block);
        if (applies(h, block)) {
            remove_free(heap, block);
            xs_heap_put(heap, block, h->stream, h->stamp);
            any = true;
        }
        block = xs_block_of_node(xs_bins_at_least(tree, bytes, va + 1));
    }
    return any;
}

/* All streams' blocks but those of `except`. */
static bool hand_over(struct xs_heap *heap, const struct xs_stream *except,
                      const struct handover *h)
{
    bool any = false;
    XS_BIT_SET_FOR_EACH(index, &heap->filled)
    if (index && (!except || except->index != index))
        any |= hand_over_tree(heap, index, h);
    return any;
}

bool xs_heap_settle(struct xs_heap *heap, const struct xs_fences *fences,
                    const struct xs_stream *except)
{
    return hand_over(heap, except, &(struct handover){.fences = fences});
}

bool xs_heap_adopt(struct xs_heap *heap, struct xs_stream *stream, uint64_t epoch, uint64_t stamp)
{
    return hand_over(heap, stream,
                     &(struct handover){.stream = stream, .epoch = epoch, .stamp = stamp});
}

/* ---- what growth needs ---------------------------------------------------------------------- */

static void insert_hole(struct xs_heap *heap, struct xs_block *block)
{
    xs_block_set_state(block, XS_BLOCK_HOLE);
    xs_list_push_front(&heap->holes, &block->link);
}

struct xs_block *xs_heap_carve(struct xs_heap *heap, struct xs_block *block, xs_cu_ptr va,
                               size_t bytes)
{
    bool hole = xs_block_state_of(block) == XS_BLOCK_HOLE;
    if (hole)
        xs_list_remove(&block->link);
    else
        remove_free(heap, block);
    xs_block_set_state(block, XS_BLOCK_BUSY);
    if (va + bytes < xs_block_end(block)) {
        struct xs_block *right = split(heap, block, va + bytes);
        hole ? insert_hole(heap, right) : insert_free(heap, right);
    }
    if (va > xs_block_va(block)) {
        struct xs_block *left = block;
        block = split(heap, left, va);
        hole ? insert_hole(heap, left) : insert_free(heap, left);
    }
    return block;
}

void xs_heap_set_stream(struct xs_block *block, struct xs_stream *stream)
{
    set_stream(block, stream, 0);
}

void xs_heap_stamp(struct xs_block *block, struct xs_stream *stream, uint64_t stamp)
{
    set_stream(block, stream, xs_max(stamp, block->stamp));
}

void xs_heap_forget_stream(struct xs_block *block)
{
    set_stream(block, NULL, 0);
}

struct xs_block *xs_heap_put_hole(struct xs_heap *heap, struct xs_block *block)
{
    set_stream(block, NULL, 0);
    struct xs_block *prev = xs_block_prev(block), *next = xs_block_next(block);
    if (next && xs_block_state_of(next) == XS_BLOCK_HOLE) {
        xs_list_remove(&next->link);
        join(heap, block, next);
    }
    if (prev && xs_block_state_of(prev) == XS_BLOCK_HOLE) {
        xs_list_remove(&prev->link);
        join(heap, prev, block);
        block = prev;
    }
    insert_hole(heap, block);
    return block;
}

void xs_heap_join_busy(struct xs_heap *heap, struct xs_block *block, struct xs_block *next)
{
    xs_list_remove(&next->link);
    join(heap, block, next);
}

void xs_heap_make_live(struct xs_block *block, struct xs_stream *stream)
{
    xs_block_set_state(block, XS_BLOCK_LIVE);
    set_stream(block, stream, 0);
}

struct xs_block *xs_heap_cut_busy(struct xs_heap *heap, struct xs_block *block, size_t bytes)
{
    return split(heap, block, xs_block_va(block) + bytes);
}

/* ---- segments ------------------------------------------------------------------------------- */

struct xs_block *xs_heap_add_segment(struct xs_heap *heap, struct xs_segment *segment,
                                     enum xs_block_state state)
{
    struct xs_block *block = new_block(heap, segment, segment->base, segment->bytes);
    xs_list_push_back(&heap->segments, &segment->link);
    xs_list_push_back(&segment->blocks, &block->by_addr);
    if (state == XS_BLOCK_HOLE)
        insert_hole(heap, block);
    return block;
}

void xs_heap_remove_segment(struct xs_heap *heap, struct xs_block *block)
{
    struct xs_segment *segment = block->segment;
    if (xs_block_state_of(block) == XS_BLOCK_FREE)
        remove_free(heap, block);
    xs_list_remove(&block->link);
    set_stream(block, NULL, 0);
    delete_block(heap, block);
    xs_list_remove(&segment->link);
}
