#include "base/bins.h"

struct xs_tree_node *xs_bins_at_least(const struct xs_bins *bins, uint64_t size, uint64_t va)
{
    if (size >> 9 >> 52) /* beyond the last bin */
        return NULL;
    unsigned i = xs_bin_of(size);
    struct xs_tree_node *node = bins->root[i] ? xs_tree_at_least(bins->root[i], size, va) : NULL;
    if (node)
        return node;
    i = xs_bit_set_next(&bins->filled, i + 1);
    return i < XS_BIN_COUNT ? xs_tree_at_least(bins->root[i], 0, 0) : NULL;
}

struct xs_tree_node *xs_bins_below(const struct xs_bins *bins, uint64_t size, uint64_t va)
{
    unsigned i = size >> 9 >> 52 ? XS_BIN_COUNT - 1 : xs_bin_of(size);
    struct xs_tree_node *node = bins->root[i] ? xs_tree_below(bins->root[i], size, va) : NULL;
    if (node || !i)
        return node;
    i = xs_bit_set_last(&bins->filled, i - 1);
    return i < XS_BIN_COUNT ? xs_tree_below(bins->root[i], UINT64_MAX, 0) : NULL;
}
