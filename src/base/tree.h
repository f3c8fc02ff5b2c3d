/*
 * An intrusive ordered set of (size, va) pairs: best fit is "the first not less". A treap whose
 * priorities are a hash of the node's address in memory, so it needs no random state and no colours.
 * Not thread-safe. A node is in one tree at a time.
 */
#ifndef XS_BASE_TREE_H
#define XS_BASE_TREE_H

#include "base/base.h"

struct xs_tree_node {
    struct xs_tree_node *left;
    struct xs_tree_node *right;
    uint64_t size; /* first key */
    uint64_t va;   /* second key; the pair is unique in a tree */
};

struct xs_tree {
    struct xs_tree_node *root;
    size_t count;
};

void xs_tree_insert(struct xs_tree *tree, struct xs_tree_node *node);
/* The node must be in the tree, with the keys that it was inserted with. */
void xs_tree_remove(struct xs_tree *tree, struct xs_tree_node *node);
/* The smallest node not less than (size, va), or NULL. */
struct xs_tree_node *xs_tree_at_least(const struct xs_tree *tree, uint64_t size, uint64_t va);
/* The largest node less than (size, va), or NULL. */
struct xs_tree_node *xs_tree_below(const struct xs_tree *tree, uint64_t size, uint64_t va);
struct xs_tree_node *xs_tree_last(const struct xs_tree *tree);

static inline struct xs_tree_node *xs_tree_first(const struct xs_tree *tree)
{
    return xs_tree_at_least(tree, 0, 0);
}

static inline struct xs_tree_node *xs_tree_next(const struct xs_tree *tree,
                                                const struct xs_tree_node *node)
{
    return xs_tree_at_least(tree, node->size, node->va + 1);
}

#endif
