#include "base/bins.h"

/* The first bin from `i` on that has a node, or XS_BIN_COUNT. */
static unsigned next_filled(const struct xs_bins *bins, unsigned i)
{
    unsigned word = i / 64;
    if (i >= XS_BIN_COUNT)
        return XS_BIN_COUNT;
    uint64_t bits = bins->filled[word] & UINT64_MAX << i % 64;
    if (bits)
        return word * 64 + (unsigned)__builtin_ctzll(bits);
    uint64_t words = bins->words & UINT64_MAX << 1 << word;
    if (!words)
        return XS_BIN_COUNT;
    word = (unsigned)__builtin_ctzll(words);
    return word * 64 + (unsigned)__builtin_ctzll(bins->filled[word]);
}

/* The last bin up to `i` that has a node, or XS_BIN_COUNT. */
static unsigned last_filled(const struct xs_bins *bins, unsigned i)
{
    unsigned word = i / 64;
    uint64_t bits = bins->filled[word] & UINT64_MAX >> (63 - i % 64);
    if (bits)
        return word * 64 + xs_log2(bits);
    uint64_t words = bins->words & (((uint64_t)1 << word) - 1);
    if (!words)
        return XS_BIN_COUNT;
    word = xs_log2(words);
    return word * 64 + xs_log2(bins->filled[word]);
}

struct xs_tree_node *xs_bins_at_least(const struct xs_bins *bins, uint64_t size, uint64_t va)
{
    if (size >> 9 >> 52) /* beyond the last bin */
        return NULL;
    unsigned i = xs_bin_of(size);
    struct xs_tree_node *node = bins->root[i] ? xs_tree_at_least(bins->root[i], size, va) : NULL;
    if (node)
        return node;
    i = next_filled(bins, i + 1);
    return i < XS_BIN_COUNT ? xs_tree_at_least(bins->root[i], 0, 0) : NULL;
}

struct xs_tree_node *xs_bins_below(const struct xs_bins *bins, uint64_t size, uint64_t va)
{
    unsigned i = size >> 9 >> 52 ? XS_BIN_COUNT - 1 : xs_bin_of(size);
    struct xs_tree_node *node = bins->root[i] ? xs_tree_below(bins->root[i], size, va) : NULL;
    if (node || !i)
        return node;
    i = last_filled(bins, i - 1);
    return i < XS_BIN_COUNT ? xs_tree_below(bins->root[i], UINT64_MAX, 0) : NULL;
}
