/*
 * Where threads leave blocks that they have too many of, and find what others freed: a thread that only
 * frees feeds one that only allocates, a batch at a time. Shards by key, each with its own lock, so that
 * a batch costs one short lock that hardly anybody else wants. Emptied before memory grows.
 */
#ifndef XS_CACHE_DEPOT_H
#define XS_CACHE_DEPOT_H

#include "base/base.h"
#include "base/lock.h"
#include "cache/cache.h"

#define XS_DEPOT_SHARDS  16
#define XS_DEPOT_BINS    32
#define XS_DEPOT_BATCHES 8

struct xs_depot_bin {
    uint64_t key;
    uint32_t batches;
    struct xs_cached_list batch[XS_DEPOT_BATCHES];
};

struct xs_depot_shard {
    struct xs_lock lock; /* rank DEPOT */
    struct xs_depot_bin bin[XS_DEPOT_BINS];
};

struct xs_depot {
    _Atomic size_t bytes; /* in all shards: whether a look is worth a lock */
    struct xs_depot_shard shard[XS_DEPOT_SHARDS];
};

void xs_depot_init(struct xs_depot *depot);
void xs_depot_destroy(struct xs_depot *depot);
/* Takes the batch, whose blocks have one key, where no more than `most` bytes are in the depot then; false: there is no
 * room, the batch stays the caller's. */
bool xs_depot_give(struct xs_depot *depot, uint64_t key, struct xs_cached_list *batch, size_t most);
/* Whether a look is worth it. */
static inline bool xs_depot_is_empty(const struct xs_depot *depot)
{
    return !atomic_load_explicit(&depot->bytes, memory_order_relaxed);
}
/* A batch of the key; false: there is none. */
bool xs_depot_take(struct xs_depot *depot, uint64_t key, struct xs_cached_list *batch);
/* Adds all blocks to `out`. */
void xs_depot_take_all(struct xs_depot *depot, struct xs_cached_list *out);

#endif
