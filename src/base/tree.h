/*
 * An intrusive ordered set of (size, va) pairs: best fit is "the first not less". A treap whose
 * priorities are a hash of the node's address in memory, so it needs no random state and no colours.
 * Not thread-safe. A node is in one tree at a time. A tree is its root, NULL when empty.
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

void xs_tree_insert(struct xs_tree_node **root, struct xs_tree_node *node);
/* The node must be in the tree, with the keys that it was inserted with. */
void xs_tree_remove(struct xs_tree_node **root, struct xs_tree_node *node);
/* The smallest node not less than (size, va), or NULL. */
struct xs_tree_node *xs_tree_at_least(struct xs_tree_node *root, uint64_t size, uint64_t va);
/* The largest node less than (size, va), or NULL. */
struct xs_tree_node *xs_tree_below(struct xs_tree_node *root, uint64_t size, uint64_t va);

#endif
