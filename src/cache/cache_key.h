/*
 * What cached blocks are found by: their size, and whose they are. A size is a multiple of 512 of at most 2^48, and
 * leaves the other bits to the lane: a pool's blocks on a stream. So a hit makes the key by one instruction.
 */
#ifndef XS_CACHE_CACHE_KEY_H
#define XS_CACHE_CACHE_KEY_H

#include "base/base.h"
#include "heap/block.h"
#include "heap/heap.h"

#define XS_CACHE_LARGEST ((size_t)1 << 48) /* more is never cached */

#define XS_CACHE_LOW_BITS  9
#define XS_CACHE_HIGH_BITS 49

/* Indexes are below 2^12 each. */
static inline uint64_t xs_cache_lane(uint32_t pool_index, uint32_t stream_index)
{
    uint64_t both = (uint64_t)pool_index << 12 | stream_index;
    return both >> XS_CACHE_LOW_BITS << XS_CACHE_HIGH_BITS |
           (both & ((1 << XS_CACHE_LOW_BITS) - 1));
}

static inline uint64_t xs_cache_key(size_t bytes, uint64_t lane)
{
    return bytes | lane;
}

static inline size_t xs_cache_key_bytes(uint64_t key)
{
    return key & (((uint64_t)1 << XS_CACHE_HIGH_BITS) - (1 << XS_CACHE_LOW_BITS));
}

/* Where a block is found once it is cached. */
static inline uint64_t xs_cache_key_of(const struct xs_block *block)
{
    return xs_cache_key(xs_block_bytes(block),
                        xs_cache_lane(block->heap->pool, block->stream->index));
}

#endif
