/* The ordered set behind best fit, by a look at every node: what the real ones have to answer. */
#ifndef XS_TESTS_UNIT_NAIVE_SET_H
#define XS_TESTS_UNIT_NAIVE_SET_H

#include "base/tree.h"

static inline bool is_before(const struct xs_tree_node *a, uint64_t size, uint64_t va)
{
    return a->size != size ? a->size < size : a->va < va;
}

/* The last node before (size, va), or with below false the first that is not; of those present. */
static inline struct xs_tree_node *naive_neighbour(struct xs_tree_node *nodes, const bool *present,
                                                   size_t n, uint64_t size, uint64_t va, bool below)
{
    struct xs_tree_node *best = NULL;
    for (size_t i = 0; i < n; i++) {
        struct xs_tree_node *node = &nodes[i];
        if (!present[i] || is_before(node, size, va) != below)
            continue;
        if (!best || is_before(node, best->size, best->va) != below)
            best = node;
    }
    return best;
}

#endif
