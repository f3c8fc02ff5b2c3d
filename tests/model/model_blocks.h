/*
 * The naive allocator that xseg is compared with: the live blocks in an array sorted by address, each
 * with a pattern in its bytes that only it has. Not thread-safe.
 */
#ifndef XS_TEST_MODEL_BLOCKS_H
#define XS_TEST_MODEL_BLOCKS_H

#include "xseg_fixture.h"

#define MODEL_MAX_BLOCKS 4096

struct model_block {
    uintptr_t va;
    size_t requested;
    size_t allocated;
    uint64_t id;
    unsigned stream;
};

static struct {
    struct model_block at[MODEL_MAX_BLOCKS];
    size_t count;
    uint64_t next_id;
    size_t requested; /* sums */
    size_t allocated;
} model;

/* ---- the pattern ------------------------------------------------------------------------------ */

static inline uint64_t pattern_word(uint64_t id, size_t offset)
{
    uint64_t z = (id + 1) * 0x9e3779b97f4a7c15u ^ offset * 0xc2b2ae3d27d4eb4fu;
    return z ^ z >> 31;
}

/* Every page of a block up to 1 MiB, and at least 128 places of a larger one. */
static inline size_t pattern_stride(const struct model_block *block)
{
    return xs_max(4096, block->requested / 256 & ~(size_t)4095);
}

/* Whole words, so that places which overlap agree. */
static inline size_t pattern_last(const struct model_block *block)
{
    return (block->requested - 1) & ~(size_t)7;
}

static inline void pattern_put(const struct model_block *block, size_t offset)
{
    const uint64_t word = pattern_word(block->id, offset);
    memcpy((char *)block->va + offset, &word, xs_min(8, block->requested - offset));
}

static inline void pattern_look(const struct model_block *block, size_t offset)
{
    const uint64_t word = pattern_word(block->id, offset);
    if (memcmp((char *)block->va + offset, &word, xs_min(8, block->requested - offset)) != 0)
        XT_FAIL("block %llu at %#zx + %zu: its data has changed at %zu",
                (unsigned long long)block->id, (size_t)block->va, block->requested, offset);
}

static inline void pattern_write(const struct model_block *block)
{
    for (size_t at = 0; at < block->requested; at += pattern_stride(block))
        pattern_put(block, at);
    pattern_put(block, pattern_last(block));
}

static inline void pattern_check(const struct model_block *block)
{
    for (size_t at = 0; at < block->requested; at += pattern_stride(block))
        pattern_look(block, at);
    pattern_look(block, pattern_last(block));
}

/* ---- the live blocks -------------------------------------------------------------------------- */

/* The index of the first block at or above the address. */
static inline size_t model_index(uintptr_t va)
{
    size_t low = 0, high = model.count;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (model.at[middle].va < va)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static inline void check_apart(const struct model_block *left, const struct model_block *right)
{
    if (left->va + left->allocated > right->va)
        XT_FAIL("blocks overlap: %#zx + %zu and %#zx + %zu", (size_t)left->va, left->allocated,
                (size_t)right->va, right->allocated);
}

static inline void check_sizes(const struct model_block *block)
{
    size_t requested, allocated;
    XT_OK(xseg_pointer_sizes((void *)block->va, &requested, &allocated));
    XT_EQUAL(requested, block->requested);
    XT_EQUAL(allocated, block->allocated);
}

/* A new block of xseg's; its sizes are asked of xseg. */
static inline void model_add(void *p, size_t requested, unsigned stream)
{
    struct model_block block = {.va = (uintptr_t)p, .requested = requested, .stream = stream};
    XT_OK(xseg_pointer_sizes(p, NULL, &block.allocated));
    block.id = model.next_id++;
    XT_EQUAL(block.va % 512, 0);
    XT_AT_MOST(requested, block.allocated);
    check_sizes(&block);
    const size_t i = model_index(block.va);
    if (i > 0)
        check_apart(&model.at[i - 1], &block);
    if (i < model.count)
        check_apart(&block, &model.at[i]);
    memmove(&model.at[i + 1], &model.at[i], (model.count - i) * sizeof(block));
    model.at[i] = block;
    model.count++;
    model.requested += block.requested;
    model.allocated += block.allocated;
    pattern_write(&block);
}

/* The block has been freed. */
static inline void model_forget(size_t i)
{
    model.requested -= model.at[i].requested;
    model.allocated -= model.at[i].allocated;
    model.count--;
    memmove(&model.at[i], &model.at[i + 1], (model.count - i) * sizeof(model.at[0]));
}

/* The block is about to be freed: it is as it was made. */
static inline struct model_block model_remove(size_t i)
{
    const struct model_block block = model.at[i];
    check_sizes(&block);
    pattern_check(&block);
    model_forget(i);
    return block;
}

#endif
