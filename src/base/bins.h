/*
 * A set of (size, va) pairs in order, as tree.h, but made for many lookups: sizes fall into bins, exact up
 * to 32 KiB and 32 a power of two above, each a small tree; a set of bits finds the next bin that has any.
 * Sizes are multiples of 512. All zero is empty. Not thread-safe.
 */
#ifndef XS_BASE_BINS_H
#define XS_BASE_BINS_H

#include "base/base.h"
#include "base/bit_set.h"
#include "base/tree.h"

#define XS_BIN_COUNT 1536

_Static_assert(XS_BIN_COUNT <= XS_BIT_SET_SIZE, "a bit for each bin");

struct xs_bins {
    size_t count;
    struct xs_bit_set filled; /* bins that have a node */
    struct xs_tree_node *root[XS_BIN_COUNT];
};

static inline unsigned xs_bin_of(uint64_t size)
{
    uint64_t units = size >> 9;
    if (units < 64)
        return (unsigned)units;
    unsigned e = xs_log2(units);
    return 64 + (e - 6) * 32 + (unsigned)(units >> (e - 5) & 31);
}

/* Most bins hold one node or none, so these two are worth having in line. */
static inline void xs_bins_insert(struct xs_bins *bins, struct xs_tree_node *node)
{
    unsigned i = xs_bin_of(node->size);
    bins->count++;
    if (bins->root[i]) {
        xs_tree_insert(&bins->root[i], node);
        return;
    }
    node->left = node->right = NULL;
    bins->root[i] = node;
    xs_bit_set_add(&bins->filled, i);
}

/* The node must be in it, with the keys that it was inserted with. */
static inline void xs_bins_remove(struct xs_bins *bins, struct xs_tree_node *node)
{
    unsigned i = xs_bin_of(node->size);
    bins->count--;
    if (bins->root[i] != node || node->left || node->right) {
        xs_tree_remove(&bins->root[i], node);
        return;
    }
    bins->root[i] = NULL;
    xs_bit_set_remove(&bins->filled, i);
}

/* Gives the node other keys. Alone in its bin, and staying there, it keeps its place. */
static inline void xs_bins_change(struct xs_bins *bins, struct xs_tree_node *node, uint64_t size,
                                  uint64_t va)
{
    unsigned i = xs_bin_of(node->size);
    bool stays = bins->root[i] == node && !node->left && !node->right && xs_bin_of(size) == i;
    if (!stays)
        xs_bins_remove(bins, node);
    node->size = size;
    node->va = va;
    if (!stays)
        xs_bins_insert(bins, node);
}

/* The first node of just this size, or NULL. */
static inline struct xs_tree_node *xs_bins_exact(const struct xs_bins *bins, uint64_t size)
{
    struct xs_tree_node *root = bins->root[xs_bin_of(size)];
    struct xs_tree_node *node = root ? xs_tree_at_least(root, size, 0) : NULL;
    return node && node->size == size ? node : NULL;
}

/* The smallest node not less than (size, va), or NULL. */
struct xs_tree_node *xs_bins_at_least(const struct xs_bins *bins, uint64_t size, uint64_t va);
/* The largest node less than (size, va), or NULL. */
struct xs_tree_node *xs_bins_below(const struct xs_bins *bins, uint64_t size, uint64_t va);

static inline struct xs_tree_node *xs_bins_first(const struct xs_bins *bins)
{
    return xs_bins_at_least(bins, 0, 0);
}

static inline struct xs_tree_node *xs_bins_last(const struct xs_bins *bins)
{
    return xs_bins_below(bins, UINT64_MAX, 0);
}

static inline struct xs_tree_node *xs_bins_next(const struct xs_bins *bins,
                                                const struct xs_tree_node *node)
{
    return xs_bins_at_least(bins, node->size, node->va + 1);
}

#endif
