/* Blocks on their way between a thread's cache, the depot and the heap. */
#ifndef XS_CACHE_CACHED_LIST_H
#define XS_CACHE_CACHED_LIST_H

#include "heap/block.h"

/* A list of CACHED blocks through next_cached. */
struct xs_cached_list {
    struct xs_block *head;
    size_t count;
};

/*
 * Puts a block before `head`. Where another thread wrote the chain last, each block's line is still to come when
 * the block is taken; only who knows the one after the next can have two of them on their way.
 */
static inline void xs_cached_link(struct xs_block *block, struct xs_block *head)
{
    const struct xs_block *second = head ? head->next_cached : NULL;
    block->ahead = (int32_t)(((uintptr_t)second - (uintptr_t)block) / XS_CACHE_LINE);
    block->next_cached = head;
}

/* The line of the one after the next is fetched; any address will do, so nothing is checked. */
static inline void xs_cached_fetch(const struct xs_block *block)
{
    __builtin_prefetch((const char *)block + (intptr_t)block->ahead * XS_CACHE_LINE, 1);
}

#endif
