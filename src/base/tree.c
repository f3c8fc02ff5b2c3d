#include "base/tree.h"

/* A node with a higher priority stands above one with a lower. */
static uint32_t priority(const struct xs_tree_node *node)
{
    return (uint32_t)(((uintptr_t)node >> 4) * 0x9E3779B97F4A7C15u >> 32);
}

static bool before(const struct xs_tree_node *a, uint64_t size, uint64_t va)
{
    return a->size < size || (a->size == size && a->va < va);
}

/* Cuts `root` into the nodes before `node`'s keys and the others. */
static void split(struct xs_tree_node *root, const struct xs_tree_node *node,
                  struct xs_tree_node **left, struct xs_tree_node **right)
{
    while (root) {
        if (before(root, node->size, node->va)) {
            *left = root;
            left = &root->right;
            root = root->right;
        } else {
            *right = root;
            right = &root->left;
            root = root->left;
        }
    }
    *left = NULL;
    *right = NULL;
}

void xs_tree_insert(struct xs_tree_node **root, struct xs_tree_node *node)
{
    struct xs_tree_node **link = root;
    uint32_t mine = priority(node);
    while (*link && priority(*link) >= mine)
        link = before(*link, node->size, node->va) ? &(*link)->right : &(*link)->left;
    split(*link, node, &node->left, &node->right);
    *link = node;
}

void xs_tree_remove(struct xs_tree_node **root, struct xs_tree_node *node)
{
    struct xs_tree_node **link = root;
    while (*link != node)
        link = before(*link, node->size, node->va) ? &(*link)->right : &(*link)->left;
    struct xs_tree_node *left = node->left, *right = node->right;
    while (left && right) { /* join the two halves in the node's place */
        if (priority(left) >= priority(right)) {
            *link = left;
            link = &left->right;
            left = left->right;
        } else {
            *link = right;
            link = &right->left;
            right = right->left;
        }
    }
    *link = left ? left : right;
}

struct xs_tree_node *xs_tree_at_least(struct xs_tree_node *root, uint64_t size, uint64_t va)
{
    struct xs_tree_node *best = NULL;
    for (struct xs_tree_node *n = root; n;) {
        if (before(n, size, va)) {
            n = n->right;
        } else {
            best = n;
            n = n->left;
        }
    }
    return best;
}

struct xs_tree_node *xs_tree_below(struct xs_tree_node *root, uint64_t size, uint64_t va)
{
    struct xs_tree_node *best = NULL;
    for (struct xs_tree_node *n = root; n;) {
        if (before(n, size, va)) {
            best = n;
            n = n->right;
        } else {
            n = n->left;
        }
    }
    return best;
}
