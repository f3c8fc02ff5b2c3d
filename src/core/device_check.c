/*
 * Everything is counted once more from the blocks and the extents, and compared with what was booked.
 * No growth is under way, so every extent is in a segment or idle, and no block is BUSY.
 */
#include "core/device_check.h"

#include "core/account.h"
#include "core/caches.h"

struct census {
    struct xs_device *dev;
    struct xs_finding *finding;
    bool quiet;
    size_t blocks;
    size_t live_blocks;
    size_t live_bytes;
    size_t waiting_bytes;
    size_t out_bytes; /* live, cached or waiting */
    size_t requested;
    size_t extents; /* mapped or idle */
    size_t extent_bytes;
    size_t segments;
    size_t classic_bytes;
    size_t address_bytes;
    size_t refs[XS_STREAM_INDEX_LIMIT]; /* blocks that name the stream of this index */
    bool seen[XS_STREAM_INDEX_LIMIT];
};

#define BROKEN(c, ...) xs_broken((c)->finding, __VA_ARGS__)

static bool same(struct census *c, const char *what, uint64_t booked, uint64_t counted)
{
    return booked == counted || BROKEN(c, "%s: booked %llu, counted %llu", what,
                                       (unsigned long long)booked, (unsigned long long)counted);
}

/* ---- blocks --------------------------------------------------------------------------------- */

/* D5 */
static bool check_address(struct census *c, struct xs_block *block)
{
    xs_cu_ptr va = atomic_load(&block->addr.va);
    enum xs_block_state state = xs_block_state_of(block);
    if (state != XS_BLOCK_LIVE && state != XS_BLOCK_CACHED)
        return !va || BROKEN(c, "D5: a block at 0x%llx that is not live is in the address map",
                             xs_block_va(block));
    return xs_addr_map_find_locked(&c->dev->addresses, xs_block_va(block)) == &block->addr ||
           BROKEN(c, "D5: the live block at 0x%llx is not found by its address",
                  xs_block_va(block));
}

/* D6 */
static bool check_stream_of(struct census *c, const struct xs_block *block)
{
    const struct xs_stream *stream = block->stream;
    if (!stream)
        return true;
    if (!stream->index || stream->index >= XS_STREAM_INDEX_LIMIT)
        return BROKEN(c, "D6: a block at 0x%llx names stream %u", xs_block_va(block),
                      stream->index);
    c->refs[stream->index]++;
    for (const struct xs_use *use = block->uses; use; use = use->next)
        c->refs[use->stream->index]++;
    /* What lies in a cache tells its stream when it leaves it. */
    return xs_block_state_of(block) != XS_BLOCK_FREE || block->stamp <= stream->last_stamp ||
           BROKEN(c, "D6: a block at 0x%llx has stamp %llu, its stream's latest is %llu",
                  xs_block_va(block), (unsigned long long)block->stamp,
                  (unsigned long long)stream->last_stamp);
}

static bool count_block(struct census *c, struct xs_block *block)
{
    c->blocks++;
    if (xs_block_state_of(block) == XS_BLOCK_BUSY)
        return BROKEN(c, "D10: a block at 0x%llx is BUSY, though no growth is under way",
                      xs_block_va(block));
    enum xs_block_state state = xs_block_state_of(block);
    if (state == XS_BLOCK_LIVE || state == XS_BLOCK_CACHED || state == XS_BLOCK_WAITING)
        c->out_bytes += xs_block_bytes(block);
    if (state == XS_BLOCK_WAITING)
        c->waiting_bytes += xs_block_bytes(block);
    if (state == XS_BLOCK_LIVE) {
        c->live_blocks++;
        c->live_bytes += xs_block_bytes(block);
        c->requested += block->requested;
        if (!block->requested || block->requested > xs_block_bytes(block))
            return BROKEN(c, "D4: a block at 0x%llx of %zu bytes serves a request of %zu",
                          xs_block_va(block), xs_block_bytes(block), block->requested);
    }
    return check_address(c, block) && check_stream_of(c, block);
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
        struct xs_block *block = xs_block_of_place(place);
        if (!count_block(c, block))
            return false;
        if (expandable && xs_block_state_of(block) != XS_BLOCK_HOLE)
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

static bool count_heaps(struct census *c)
{
    for (unsigned i = 0; i < XS_CLASSIC_COUNT; i++)
        if (!count_heap(c, &c->dev->classic[i]))
            return false;
    return count_heap(c, &c->dev->expandable);
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
            if (e->va || !granules || xs_min(xs_log2(granules), XS_EXTENT_SIZES - 1) != i)
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

/* D3, D4 */
static bool check_counters(struct census *c)
{
    const struct xseg_stats *now = &c->dev->stats.now;
    uint64_t reserved = now->reserved_bytes.current, active = now->active_bytes.current;
    return same(c, "D3: reserved", reserved, c->extent_bytes + c->classic_bytes) &&
           same(c, "D3: cached", now->cached_bytes.current, reserved - active) &&
           same(c, "D4: allocated", now->allocated_bytes.current, c->live_bytes) &&
           same(c, "D4: requested", now->requested_bytes.current, c->requested) &&
           same(c, "D4: allocations", now->allocations.current, c->live_blocks) &&
           same(c, "D4: active", active, c->live_bytes + c->waiting_bytes) &&
           same(c, "D4: out of the heaps", c->dev->out_bytes, c->out_bytes);
}

/* D8, D9 */
static bool check_records(struct census *c)
{
    const struct xseg_stats *now = &c->dev->stats.now;
    return same(c, "D8: block records", c->dev->records.live, c->blocks) &&
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
    return s->refs == c->refs[s->index] || (!c->quiet && s->refs > c->refs[s->index]) ||
           same(c, "D7: references to a stream", s->refs, c->refs[s->index]);
}

/* D6, D7 */
static bool check_streams(struct census *c)
{
    struct xs_streams *streams = &c->dev->streams;
    size_t count = 0;
    for (unsigned i = 0; i < XS_STREAM_BUCKETS; i++)
        for (struct xs_stream *s = streams->bucket[i]; s; s = s->next, count++)
            if (!check_stream(c, s, i))
                return false;
    for (unsigned i = 0; i < XS_STREAM_INDEX_LIMIT; i++)
        if (c->refs[i] && !c->seen[i])
            return BROKEN(c, "D7: %zu blocks name stream %u, which is not known", c->refs[i], i);
    return same(c, "D7: streams", streams->count, count);
}

/* ---- the whole ------------------------------------------------------------------------------ */

bool xs_device_check(struct xs_device *dev, bool quiet, struct xs_finding *finding)
{
    struct census c = {.dev = dev, .finding = finding, .quiet = quiet};
    xs_lock_acquire(&dev->growth);
    xs_lock_acquire(&dev->caches_lock);
    xs_lock_acquire(&dev->lock);
    xs_account_merge_all(dev, xs_caches_own(dev));
    bool sound = count_heaps(&c) && count_idle(&c) && check_extents(&c) && check_counters(&c) &&
                 check_records(&c) && check_streams(&c);
    xs_lock_release(&dev->lock);
    xs_lock_release(&dev->caches_lock);
    xs_lock_release(&dev->growth);
    return sound;
}
