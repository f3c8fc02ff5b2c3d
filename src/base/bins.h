/*
 * A set of (size, va) pairs in order, as tree.h, but made for many lookups: sizes fall into bins, exact up
 * to 32 KiB and 32 a power of two above, each a small tree; a bit map finds the next bin that has any.
 * Sizes are multiples of 512. All zero is empty. Not thread-safe.
 */
#ifndef XS_BASE_BINS_H
#define XS_BASE_BINS_H

#include "base/base.h"
#include "base/tree.h"

#define XS_BIN_COUNT 1536
#define XS_BIN_WORDS (XS_BIN_COUNT / 64)

struct xs_bins {
    size_t count;
    uint64_t words; /* which words of `filled` are not zero */
    uint64_t filled[XS_BIN_WORDS];
    struct xs_tree_node *root[XS_BIN_COUNT];
};

void xs_bins_insert(struct xs_bins *bins, struct xs_tree_node *node);
/* The node must be in it, with the keys that it was inserted with. */
void xs_bins_remove(struct xs_bins *bins, struct xs_tree_node *node);
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
