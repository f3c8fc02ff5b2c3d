/*
 * Everything is counted once more from the blocks and the extents, and compared with what was booked.
 * No growth is under way, so every extent is in a segment or idle, and no block is BUSY.
 *
 * Threads take blocks out of their caches and put them back without HEAP. So whether a block is LIVE or
 * CACHED, and what hangs on that, is only looked at when all is quiet.
 */
#include "core/device_check.h"

#include "cache/depot.h"
#include "core/account.h"
#include "core/caches.h"
#include "core/route.h"

struct census {
    struct xs_device *dev;
    struct xs_finding *finding;
    bool quiet;
    size_t blocks;
    size_t live_blocks, live_bytes, requested;
    size_t cached_blocks, cached_bytes;
    size_t waiting_blocks, waiting_bytes;
    size_t stale_blocks;
    size_t stale_places; /* as extents count them */
    size_t uses;
    size_t extents, extent_bytes; /* mapped or idle */
    size_t segments, classic_bytes, address_bytes;
    size_t refs[XS_STREAM_INDEX_LIMIT]; /* blocks and uses that name the stream of this index */
    bool seen[XS_STREAM_INDEX_LIMIT];
};

#define BROKEN(c, ...) xs_broken((c)->finding, __VA_ARGS__)

static bool same(struct census *c, const char *what, uint64_t booked, uint64_t counted)
{
    return booked == counted || BROKEN(c, "%s: booked %llu, counted %llu", what,
                                       (unsigned long long)booked, (unsigned long long)counted);
}

static bool broken_block(struct census *c, const char *rule, const struct xs_block *block,
                         const char *what)
{
    return BROKEN(c, "%s: a block at 0x%llx, %zu bytes, state %d: %s", rule, xs_block_va(block),
                  xs_block_bytes(block), xs_block_state_of(block), what);
}

/* ---- blocks --------------------------------------------------------------------------------- */

/* D5 */
static bool check_address(struct census *c, const struct xs_block *block)
{
    enum xs_block_state state = xs_block_state_of(block);
    if (state != XS_BLOCK_LIVE && state != XS_BLOCK_CACHED)
        return !atomic_load(&block->addr.va) ||
               broken_block(c, "D5", block, "is in the address map");
    return xs_addr_map_find_locked(&c->dev->addresses, xs_block_va(block)) == &block->addr ||
           broken_block(c, "D5", block, "is not found by its address");
}

static bool name_stream(struct census *c, const struct xs_block *block,
                        const struct xs_stream *stream)
{
    if (!stream->index || stream->index >= XS_STREAM_INDEX_LIMIT)
        return broken_block(c, "D7", block, "names a stream without an index");
    c->refs[stream->index]++;
    return true;
}

/* D6 */
static bool check_streams_of(struct census *c, const struct xs_block *block)
{
    enum xs_block_state state = xs_block_state_of(block);
    bool stamped = state == XS_BLOCK_FREE || state == XS_BLOCK_WAITING || state == XS_BLOCK_STALE;
    for (const struct xs_use *use = block->uses; use; use = use->next) {
        c->uses++;
        if (!name_stream(c, block, use->stream))
            return false;
        if (use->stamp > use->stream->last_stamp)
            return broken_block(c, "D6", block, "waits for more than was freed on a stream");
    }
    if (!block->stream)
        return true;
    if (stamped && block->stamp > block->stream->last_stamp)
        return broken_block(c, "D6", block, "has a later stamp than its stream");
    return name_stream(c, block, block->stream);
}

static bool count_live(struct census *c, const struct xs_block *block)
{
    if (!c->quiet)
        return true;
    c->live_blocks++;
    c->requested += block->requested;
    return (block->requested && block->requested <= xs_block_bytes(block)) ||
           broken_block(c, "D4", block, "serves a request of another size");
}

static bool count_block(struct census *c, const struct xs_block *block)
{
    size_t bytes = xs_block_bytes(block);
    c->blocks++;
    switch (xs_block_state_of(block)) {
    case XS_BLOCK_LIVE:
        c->live_bytes += bytes;
        return count_live(c, block);
    case XS_BLOCK_CACHED:
        c->cached_blocks++;
        c->cached_bytes += bytes;
        return true;
    case XS_BLOCK_WAITING:
        c->waiting_blocks++;
        c->waiting_bytes += bytes;
        return true;
    case XS_BLOCK_STALE:
        c->stale_blocks++;
        return true;
    case XS_BLOCK_BUSY:
        return broken_block(c, "D10", block, "is BUSY, though no growth is under way");
    default:
        return true;
    }
}

/* The heap's own invariants hold already. */
static void count_extents_in(struct census *c, const struct xs_block *block)
{
    const struct xs_segment *segment = block->segment;
    for (xs_cu_ptr va = xs_block_va(block); va < xs_block_end(block);) {
        const struct xs_extent *e = xs_segment_extent_at(segment, va);
        if (e->va >= xs_block_va(block)) { /* else it began in the block before */
            c->extents++;
            c->extent_bytes += e->bytes;
            c->stale_places += e->stale;
        }
        va = e->va + e->bytes;
    }
}

static bool count_segment(struct census *c, const struct xs_segment *segment)
{
    bool expandable = segment->extent_at != NULL;
    c->segments++;
    *(expandable ? &c->address_bytes : &c->classic_bytes) += segment->bytes;
    XS_LIST_FOR_EACH(place, &segment->blocks) {
        const struct xs_block *block = xs_block_of_place(place);
        if (!count_block(c, block) || !check_address(c, block) || !check_streams_of(c, block))
            return false;
        bool backed =
            xs_block_state_of(block) != XS_BLOCK_HOLE && xs_block_state_of(block) != XS_BLOCK_STALE;
        if (expandable && backed)
            count_extents_in(c, block);
    }
    return true;
}

static bool count_heap(struct census *c, const struct xs_heap *heap)
{
    if (!xs_heap_check(heap, c->finding))
        return false;
    XS_LIST_FOR_EACH(link, &heap->segments)
        if (!count_segment(c, XS_CONTAINER_OF(link, struct xs_segment, link)))
            return false;
    return true;
}

static bool count_heaps_of(struct census *c, const struct xs_pool *pool)
{
    for (unsigned i = 0; i < XS_CLASSIC_COUNT; i++)
        if (!count_heap(c, &pool->classic[i]))
            return false;
    return count_heap(c, &pool->expandable);
}

/* D13 */
static bool check_pool(struct census *c, const struct xs_pool *pool, uint32_t least)
{
    if (pool->index < least || pool->expandable.pool != pool->index ||
        xs_pool_is_default(pool) != (pool == &c->dev->main))
        return BROKEN(c, "D13: pool %u is out of order, or its heaps are not its own", pool->index);
    if (pool->held && !pool->id)
        return BROKEN(c, "D13: pool %u is held by nobody", pool->index);
    return !c->quiet ||
           same(c, "D13: users of a pool", pool->users, xs_routes_of_pool(c->dev, pool));
}

static bool count_heaps(struct census *c)
{
    uint32_t least = 0;
    XS_LIST_FOR_EACH(link, &c->dev->pools) {
        const struct xs_pool *pool = xs_pool_of_link(link);
        if (!check_pool(c, pool, least))
            return false;
        least = pool->index + 1;
        if (!count_heaps_of(c, pool))
            return false;
    }
    return true;
}

/* ---- extents -------------------------------------------------------------------------------- */

/* D2 */
static bool count_idle(struct census *c)
{
    const struct xs_extents *extents = &c->dev->extents;
    size_t idle_bytes = 0;
    for (unsigned i = 0; i < XS_EXTENT_SIZES; i++) {
        XS_LIST_FOR_EACH(link, &extents->idle[i]) {
            const struct xs_extent *e = XS_CONTAINER_OF(link, struct xs_extent, link);
            size_t granules = e->bytes / extents->caps->granule;
            if (e->va || e->stale || !granules ||
                xs_min(xs_log2(granules), XS_EXTENT_SIZES - 1) != i)
                return BROKEN(c, "D2: idle extent of %zu bytes in list %u says it is at 0x%llx",
                              e->bytes, i, e->va);
            idle_bytes += e->bytes;
            c->extents++;
        }
    }
    c->extent_bytes += idle_bytes;
    return same(c, "D2: idle bytes", extents->idle_bytes, idle_bytes);
}

/* D1 */
static bool check_extents(struct census *c)
{
    return same(c, "D1: extent records", c->dev->extents.slab.live, c->extents) &&
           same(c, "D1: extents", c->dev->stats.now.extents.current, c->extents);
}

/* ---- counters ------------------------------------------------------------------------------- */

/* D3 */
static bool check_reserved(struct census *c)
{
    const struct xseg_stats *now = &c->dev->stats.now;
    uint64_t reserved = now->reserved_bytes.current, active = now->active_bytes.current;
    size_t out = c->live_bytes + c->cached_bytes + c->waiting_bytes;
    return same(c, "D3: reserved", reserved, c->extent_bytes + c->classic_bytes) &&
           same(c, "D3: cached", now->cached_bytes.current, reserved - active) &&
           same(c, "D3: outside of heaps", c->dev->out_bytes, out);
}

/* D4; every thread's counts have been merged. */
static bool check_allocated(struct census *c)
{
    const struct xseg_stats *now = &c->dev->stats.now;
    return !c->quiet ||
           (same(c, "D4: allocated", now->allocated_bytes.current, c->live_bytes) &&
            same(c, "D4: active", now->active_bytes.current, c->live_bytes + c->waiting_bytes) &&
            same(c, "D4: requested", now->requested_bytes.current, c->requested) &&
            same(c, "D4: allocations", now->allocations.current, c->live_blocks));
}

/* D8, D9 */
static bool check_records(struct census *c)
{
    const struct xseg_stats *now = &c->dev->stats.now;
    return same(c, "D8: block records", c->dev->records.live, c->blocks) &&
           same(c, "D8: records of uses", c->dev->uses.live, c->uses) &&
           same(c, "D9: segments", now->segments.current, c->segments) &&
           same(c, "D9: address space", now->address_bytes, c->address_bytes);
}

/* ---- streams -------------------------------------------------------------------------------- */

static bool check_stream(struct census *c, struct xs_stream *s, unsigned bucket)
{
    uint64_t epoch = xs_fence_stamp(&c->dev->fences);
    if (!s->index || s->index > c->dev->streams.count || c->seen[s->index])
        return BROKEN(c, "D7: stream index %u is out of range or given twice", s->index);
    c->seen[s->index] = true;
    if (s->key.id % XS_STREAM_BUCKETS != bucket)
        return BROKEN(c, "D7: stream %u is in bucket %u", s->index, bucket);
    if (s->last_stamp > epoch || atomic_load(&s->passed) >= epoch)
        return BROKEN(c, "D6: stream %u is ahead of the epoch", s->index);
    size_t refs = c->refs[s->index] + xs_routes_of_stream(c->dev, s);
    return s->refs == refs || (!c->quiet && s->refs > refs) ||
           same(c, "D7: references to a stream", s->refs, refs);
}

/* D6, D7 */
static bool check_streams(struct census *c)
{
    struct xs_streams *streams = &c->dev->streams;
    size_t count = 0;
    for (const struct xs_stream *s = streams->spare; s; s = s->next)
        count++;
    for (unsigned i = 0; i < XS_STREAM_BUCKETS; i++)
        for (struct xs_stream *s = streams->bucket[i]; s; s = s->next, count++)
            if (!check_stream(c, s, i))
                return false;
    for (unsigned i = 0; i < XS_STREAM_INDEX_LIMIT; i++)
        if (c->refs[i] && !c->seen[i])
            return BROKEN(c, "D7: %zu blocks name stream %u, which is not known", c->refs[i], i);
    return same(c, "D7: streams", streams->count, count);
}

/* ---- blocks that no heap holds ---------------------------------------------------------------- */

/* D11 */
static bool check_waiting(struct census *c)
{
    size_t count = 0;
    XS_LIST_FOR_EACH(link, &c->dev->waiting) {
        const struct xs_block *block = xs_block_of_link(link);
        if (++count > c->waiting_blocks || xs_block_state_of(block) != XS_BLOCK_WAITING)
            return broken_block(c, "D11", block, "is in the list of those that wait");
        if (!block->uses)
            return broken_block(c, "D11", block, "waits for no stream");
    }
    return same(c, "D11: waiting blocks", count, c->waiting_blocks);
}

/* D14 */
static bool check_stale(struct census *c)
{
    size_t count = 0;
    XS_LIST_FOR_EACH(link, &c->dev->stale) {
        const struct xs_block *block = xs_block_of_link(link);
        if (++count > c->stale_blocks || xs_block_state_of(block) != XS_BLOCK_STALE)
            return broken_block(c, "D14", block, "is in the list of stale ones");
        if (!block->extent || block->extent->bytes != xs_block_bytes(block) || !block->extent->va)
            return broken_block(c, "D14", block, "is not where an extent was");
    }
    return same(c, "D14: stale blocks", count, c->stale_blocks) &&
           same(c, "D14: stale places of extents", c->stale_places, count);
}

/* D12: a chain of CACHED blocks of one key. */
static bool check_chain(struct census *c, const struct xs_block *block, uint64_t key, size_t count)
{
    size_t n = 0;
    for (; block && n <= count; block = block->next_cached, n++) {
        if (xs_block_state_of(block) != XS_BLOCK_CACHED || block->key != key ||
            key != xs_cache_key_of(block))
            return broken_block(c, "D12", block, "is in a cache under another key or state");
        if (block->stamp > xs_fence_stamp(&c->dev->fences))
            return broken_block(c, "D12", block, "has a stamp ahead of the epoch");
    }
    return same(c, "D12: blocks of a key", count, n);
}

static bool check_cache(struct census *c, const struct xs_cache *cache, size_t *blocks)
{
    for (unsigned i = 0; i < XS_CACHE_BINS; i++) {
        const struct xs_cache_bin *bin = &cache->bin[i];
        if (!check_chain(c, bin->head, bin->key, bin->count))
            return false;
        if (bin->count && !bin->listed)
            return BROKEN(c, "D12: a bin with %u blocks is not listed as filled", bin->count);
        *blocks += bin->count;
    }
    return true;
}

static bool check_depot(struct census *c, const struct xs_depot *depot, size_t *blocks)
{
    size_t bytes = 0;
    for (unsigned i = 0; i < XS_DEPOT_SHARDS * XS_DEPOT_BINS; i++) {
        const struct xs_depot_bin *bin = &depot->shard[i / XS_DEPOT_BINS].bin[i % XS_DEPOT_BINS];
        for (uint32_t k = 0; k < bin->batches; k++) {
            if (!check_chain(c, bin->batch[k].head, bin->key, bin->batch[k].count))
                return false;
            *blocks += bin->batch[k].count;
            bytes += bin->batch[k].count * xs_cache_key_bytes(bin->key);
        }
    }
    return same(c, "D12: bytes in the depot", atomic_load(&depot->bytes), bytes);
}

static bool check_caches(struct census *c)
{
    size_t blocks = 0;
    if (!c->quiet)
        return true;
    XS_LIST_FOR_EACH(link, &c->dev->caches)
        if (!check_cache(c, XS_CONTAINER_OF(link, struct xs_cache, link), &blocks))
            return false;
    return check_depot(c, c->dev->depot, &blocks) &&
           same(c, "D12: cached blocks", blocks, c->cached_blocks);
}

/* ---- the whole ------------------------------------------------------------------------------ */

static bool check_locked(struct census *c)
{
    xs_account_merge_all(c->dev, xs_caches_own(c->dev));
    return count_heaps(c) && count_idle(c) && check_extents(c) && check_reserved(c) &&
           check_allocated(c) && check_records(c) && check_streams(c) && check_waiting(c) &&
           check_stale(c) && check_caches(c);
}

bool xs_device_check(struct xs_device *dev, bool quiet, struct xs_finding *finding)
{
    struct census c = {.dev = dev, .finding = finding, .quiet = quiet};
    xs_lock_acquire(&dev->growth);
    xs_lock_acquire(&dev->caches_lock);
    xs_lock_acquire(&dev->lock);
    bool sound = check_locked(&c);
    xs_lock_release(&dev->lock);
    xs_lock_release(&dev->caches_lock);
    xs_lock_release(&dev->growth);
    return sound;
}
