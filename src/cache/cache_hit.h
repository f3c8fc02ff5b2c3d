/*
 * The hit: a cached block in or out, and what is counted with it. In line, since it is what a program pays for most
 * of its allocations.
 */
#ifndef XS_CACHE_CACHE_HIT_H
#define XS_CACHE_CACHE_HIT_H

#include "cache/cache.h"

/* Whether so much more can be allocated before all threads' bytes have to be looked at. */
static inline bool xs_cache_is_below(const struct xs_cache *c, size_t more)
{
    return XS_READ(c->counts.allocated.net) + (int64_t)more <= XS_READ(c->look_above);
}

/* From here on, XS_CACHE_STEP more or less counts. Under the lock. */
static inline void xs_cache_follow(struct xs_cache *c)
{
    int64_t net = XS_READ(c->counts.allocated.net);
    bool many = atomic_load_explicit(&c->shared->many, memory_order_relaxed);
    XS_WRITE(c->look_above, many ? net + XS_CACHE_STEP : INT64_MAX);
    XS_WRITE(c->follow_below, many ? net - XS_CACHE_STEP : INT64_MIN);
}

static inline void xs_cache_count_freed(struct xs_cache *c, size_t requested, size_t bytes)
{
    xs_cache_count_out(&c->counts, requested, bytes);
    if (xs_unlikely(XS_READ(c->counts.allocated.net) < XS_READ(c->follow_below)))
        xs_cache_follow(c);
}

/* The owner takes a block of a key, LIVE, for `requested` bytes; NULL: a miss, or a look is due and not `looking`. */
static inline struct xs_block *xs_cache_pop(struct xs_cache *c, uint64_t key, size_t requested,
                                            bool looking)
{
    xs_biased_lock_enter(&c->lock);
    struct xs_cache_bin *bin = xs_cache_bin_of(c, key);
    struct xs_block *block = bin ? bin->head : NULL;
    size_t bytes = xs_cache_key_bytes(key);
    if (xs_likely(block != NULL) && !looking && xs_unlikely(!xs_cache_is_below(c, bytes)))
        block = NULL;
    if (xs_likely(block != NULL)) {
        bin->head = block->next_cached;
        xs_cached_fetch(block);
        bin->count--;
        xs_block_set_state(block, XS_BLOCK_LIVE);
        block->requested = requested;
        block->origin = c->origin;
        xs_cache_count_in(&c->counts, requested, bytes);
        if (xs_unlikely(c->ring != NULL))
            xs_cache_record(c, XS_EVENT_ALLOC, block);
    }
    xs_biased_lock_leave(&c->lock);
    return block;
}

static inline void xs_cache_list_bin(struct xs_cache *c, struct xs_cache_bin *bin)
{
    if (xs_likely(bin->listed))
        return;
    bin->listed = true;
    c->filled_bin[c->filled++] = (uint16_t)(bin - c->bin);
}

/* The owner gives a LIVE block; false: it has to take the slow path, and nothing has changed. */
static inline bool xs_cache_push(struct xs_cache *c, struct xs_block *block)
{
    size_t bytes = xs_cache_key_bytes(block->key);
    xs_biased_lock_enter(&c->lock);
    struct xs_cache_bin *bin = xs_cache_bin_of(c, block->key);
    bool fits = bin && bin->count < bin->limit && xs_block_state_of(block) == XS_BLOCK_LIVE &&
                (c->bytes_limit == SIZE_MAX || xs_cache_bytes(c) + bytes <= c->bytes_limit);
    if (xs_likely(fits)) {
        xs_block_set_state(block, XS_BLOCK_CACHED);
        block->stamp = atomic_load_explicit(c->shared->epoch, memory_order_relaxed);
        xs_cached_link(block, bin->head);
        xs_cache_list_bin(c, bin);
        bin->head = block;
        bin->count++;
        xs_cache_count_freed(c, block->requested, bytes);
        if (xs_unlikely(c->ring != NULL))
            xs_cache_record(c, XS_EVENT_FREE, block);
    }
    xs_biased_lock_leave(&c->lock);
    return fits;
}

#endif
