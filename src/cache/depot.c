#include "cache/depot.h"

#include <string.h>

void xs_depot_init(struct xs_depot *depot)
{
    memset(depot, 0, sizeof(*depot));
    for (unsigned i = 0; i < XS_DEPOT_SHARDS; i++)
        xs_lock_init(&depot->shard[i].lock, XS_RANK_DEPOT);
}

void xs_depot_destroy(struct xs_depot *depot)
{
    for (unsigned i = 0; i < XS_DEPOT_SHARDS; i++)
        xs_lock_destroy(&depot->shard[i].lock);
}

static uint64_t hash(uint64_t key)
{
    return key * 0xD6E8FEB86659FD93u >> 32;
}

static struct xs_depot_shard *shard_of(struct xs_depot *depot, uint64_t key)
{
    return &depot->shard[hash(key) % XS_DEPOT_SHARDS];
}

static struct xs_depot_bin *bin_of(struct xs_depot_shard *shard, uint64_t key)
{
    return &shard->bin[hash(key) / XS_DEPOT_SHARDS % XS_DEPOT_BINS];
}

static size_t bytes_of(uint64_t key, const struct xs_cached_list *batch)
{
    return batch->count * xs_cache_key_bytes(key);
}

static bool book(struct xs_depot *depot, size_t bytes, size_t most)
{
    size_t before = atomic_load_explicit(&depot->bytes, memory_order_relaxed);
    do {
        if (bytes > most || before > most - bytes)
            return false;
    } while (!atomic_compare_exchange_weak_explicit(&depot->bytes, &before, before + bytes,
                                                    memory_order_relaxed, memory_order_relaxed));
    return true;
}

static void take_last(struct xs_depot *depot, struct xs_depot_bin *bin,
                      struct xs_cached_list *batch)
{
    *batch = bin->batch[--bin->batches];
    atomic_fetch_sub_explicit(&depot->bytes, bytes_of(bin->key, batch), memory_order_relaxed);
}

bool xs_depot_give(struct xs_depot *depot, uint64_t key, struct xs_cached_list *batch, size_t most)
{
    struct xs_depot_shard *shard = shard_of(depot, key);
    struct xs_depot_bin *bin = bin_of(shard, key);
    xs_lock_acquire(&shard->lock);
    if (!bin->batches)
        bin->key = key;
    bool fits = bin->key == key && bin->batches < XS_DEPOT_BATCHES &&
                book(depot, bytes_of(key, batch), most);
    if (fits) {
        bin->batch[bin->batches++] = *batch;
        *batch = (struct xs_cached_list){0};
    }
    xs_lock_release(&shard->lock);
    return fits;
}

bool xs_depot_take(struct xs_depot *depot, uint64_t key, struct xs_cached_list *batch)
{
    if (xs_depot_is_empty(depot))
        return false;
    struct xs_depot_shard *shard = shard_of(depot, key);
    struct xs_depot_bin *bin = bin_of(shard, key);
    xs_lock_acquire(&shard->lock);
    bool found = bin->batches && bin->key == key;
    if (found)
        take_last(depot, bin, batch);
    xs_lock_release(&shard->lock);
    return found;
}

static void append_all(struct xs_cached_list *out, struct xs_cached_list *batch)
{
    struct xs_block *next;
    for (struct xs_block *block = batch->head; block; block = next) {
        next = block->next_cached;
        block->next_cached = out->head;
        out->head = block;
        out->count++;
    }
}

void xs_depot_take_all(struct xs_depot *depot, struct xs_cached_list *out)
{
    if (xs_depot_is_empty(depot))
        return;
    for (unsigned i = 0; i < XS_DEPOT_SHARDS; i++) {
        struct xs_depot_shard *shard = &depot->shard[i];
        xs_lock_acquire(&shard->lock);
        for (unsigned k = 0; k < XS_DEPOT_BINS; k++) {
            while (shard->bin[k].batches) {
                struct xs_cached_list batch;
                take_last(depot, &shard->bin[k], &batch);
                append_all(out, &batch);
            }
        }
        xs_lock_release(&shard->lock);
    }
}
