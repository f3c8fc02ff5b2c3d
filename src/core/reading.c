#include "core/reading.h"

#include "core/account.h"
#include "core/caches.h"
#include "driver/driver.h"

static void driver_counters(uint64_t out[XS_STATS_DRIVER_COUNT])
{
    out[0] = xs_driver_calls(XS_CALL_mem_create) + xs_driver_calls(XS_CALL_mem_alloc);
    out[1] = xs_driver_calls(XS_CALL_mem_release) + xs_driver_calls(XS_CALL_mem_free);
    out[2] = xs_driver_calls(XS_CALL_mem_map);
    out[3] = xs_driver_calls(XS_CALL_mem_unmap);
    out[4] = xs_driver_calls(XS_CALL_mem_set_access);
    out[5] = xs_driver_cost_ns();
    out[6] = xs_driver_wall_ns();
}

void xs_reading_begin_totals(struct xs_device *dev)
{
    driver_counters(dev->stats.driver_base);
}

/* ---- the walk --------------------------------------------------------------------------------- */

/* Blocks that touch and hold nothing live: one request could have them all. */
struct run {
    size_t bytes;  /* with the holes */
    size_t mapped; /* without them */
    size_t whole;  /* of that, in extents wholly inside: those could also serve elsewhere */
};

struct walk {
    const struct xs_device *dev;
    struct xseg_stats *out;
    const struct xs_pool *asking; /* whose requests the largest ones are */
    const struct xs_pool *pool;
    const struct xs_segment *segment;
    struct run run;
    xs_cu_ptr mapped_from, mapped_to; /* the mapped stretch at the run's end */
    size_t reclaimable;               /* bytes that could serve anywhere, after the walk */
    bool again;                       /* the second time: reclaimable is known */
    size_t fresh;                     /* what may still be created */
};

static size_t whole_extents(const struct xs_segment *segment, xs_cu_ptr from, xs_cu_ptr to)
{
    size_t bytes = 0;
    for (xs_cu_ptr va = from; va < to;) {
        const struct xs_extent *e = xs_segment_extent_at(segment, va);
        if (!e)
            return bytes; /* a growth has it in hand */
        if (e->va >= from && e->va + e->bytes <= to)
            bytes += e->bytes;
        va = e->va + e->bytes;
    }
    return bytes;
}

static void end_stretch(struct walk *w)
{
    if (w->mapped_to > w->mapped_from && w->segment->extent_at)
        w->run.whole += whole_extents(w->segment, w->mapped_from, w->mapped_to);
    w->mapped_from = w->mapped_to = 0;
}

/* A classic segment serves elsewhere only as a whole. */
static void end_run(struct walk *w)
{
    end_stretch(w);
    if (!w->segment->extent_at && w->run.bytes == w->segment->bytes)
        w->run.whole = w->run.bytes;
    if (w->pool->held)
        w->run.whole = 0; /* it serves its own pool alone, where it is */
    if (!w->again) {
        w->reclaimable += w->run.whole;
    } else if (w->pool == w->asking) {
        struct xseg_stats *out = w->out;
        size_t elsewhere = w->segment->extent_at ? w->reclaimable - w->run.whole : 0;
        size_t most = xs_min(w->run.bytes, w->run.mapped + elsewhere);
        out->largest_reclaimable_bytes = xs_max(out->largest_reclaimable_bytes, most);
        most = xs_min(w->run.bytes, w->run.mapped + elsewhere + w->fresh);
        out->largest_obtainable_bytes = xs_max(out->largest_obtainable_bytes, most);
    }
    w->run = (struct run){0};
}

static void add_to_run(struct walk *w, const struct xs_block *block, bool is_hole)
{
    size_t bytes = xs_block_bytes(block);
    w->run.bytes += bytes;
    if (is_hole) {
        end_stretch(w);
        return;
    }
    w->run.mapped += bytes;
    if (w->mapped_from == w->mapped_to)
        w->mapped_from = xs_block_va(block);
    w->mapped_to = xs_block_end(block);
}

/* Every free byte has one cause: the pool, where that keeps it from serving others. */
static void explain_free(struct walk *w, const struct xs_block *block)
{
    struct xseg_stats *out = w->out;
    size_t bytes = xs_block_bytes(block), whole;
    if (w->pool == w->asking)
        out->largest_free_bytes = xs_max(out->largest_free_bytes, bytes);
    if (w->pool->held) {
        out->frag_pool_bytes += bytes;
        return;
    }
    if (!xs_block_has_passed(block, &w->dev->fences)) {
        out->frag_stream_bytes += bytes;
        return;
    }
    if (w->segment->extent_at)
        whole = whole_extents(w->segment, xs_block_va(block), xs_block_end(block));
    else
        whole = xs_block_is_whole_segment(block) ? bytes : 0;
    out->frag_free_bytes += whole;
    *(w->segment->extent_at ? &out->frag_pinned_bytes : &out->frag_split_bytes) += bytes - whole;
    out->unreleasable_blocks.current += whole < bytes;
}

static void walk_block(struct walk *w, const struct xs_block *block)
{
    switch (xs_block_state_of(block)) {
    case XS_BLOCK_FREE:
        if (!w->again)
            explain_free(w, block);
        add_to_run(w, block, false);
        return;
    case XS_BLOCK_CACHED:
        add_to_run(w, block, false);
        return;
    case XS_BLOCK_HOLE:
        add_to_run(w, block, true);
        return;
    case XS_BLOCK_WAITING:
        w->out->waiting_blocks += !w->again;
        end_run(w);
        return;
    default:
        end_run(w);
    }
}

static void walk_heap(struct walk *w, const struct xs_heap *heap)
{
    XS_LIST_FOR_EACH(link, &heap->segments) {
        w->segment = XS_CONTAINER_OF(link, const struct xs_segment, link);
        XS_LIST_FOR_EACH(place, &w->segment->blocks)
            walk_block(w, xs_block_of_place(place));
        end_run(w);
    }
}

static void walk_all(struct walk *w)
{
    XS_LIST_FOR_EACH(link, &w->dev->pools) {
        w->pool = xs_pool_of_link(link);
        walk_heap(w, &w->pool->expandable);
        for (unsigned i = 0; i < XS_CLASSIC_COUNT; i++)
            walk_heap(w, &w->pool->classic[i]);
    }
}

/* ---- pinned extents --------------------------------------------------------------------------- */

/* Extents that are neither wholly live nor wholly free. */
static size_t count_pinned(const struct xs_heap *heap)
{
    size_t pinned = 0;
    XS_LIST_FOR_EACH(link, &heap->segments) {
        const struct xs_segment *segment = XS_CONTAINER_OF(link, const struct xs_segment, link);
        const struct xs_extent *last = NULL;
        XS_LIST_FOR_EACH(place, &segment->blocks) {
            const struct xs_block *block = xs_block_of_place(place);
            if (xs_block_state_of(block) != XS_BLOCK_FREE)
                continue;
            const struct xs_extent *ends[] = {
                xs_segment_extent_at(segment, xs_block_va(block)),
                xs_segment_extent_at(segment, xs_block_end(block) - 1)};
            for (unsigned i = 0; i < 2; i++) {
                const struct xs_extent *e = ends[i];
                if (e && e != last &&
                    (e->va < xs_block_va(block) || e->va + e->bytes > xs_block_end(block))) {
                    pinned++;
                    last = e;
                }
            }
        }
    }
    return pinned;
}

/* ---- what follows from it --------------------------------------------------------------------- */

static size_t headroom(const struct xs_device *dev, size_t free_bytes)
{
    size_t reserved = dev->stats.now.reserved_bytes.current;
    size_t left = dev->limit_bytes > reserved ? dev->limit_bytes - reserved : 0;
    return xs_round_down(xs_min(left, free_bytes == SIZE_MAX ? 0 : free_bytes), dev->caps.granule);
}

/* What a growth has in hand at this moment is in no state that is walked: it counts as free. */
static void read_fragmentation(struct walk *w)
{
    const struct xs_device *dev = w->dev;
    struct xseg_stats *out = w->out;
    out->frag_idle_bytes = dev->extents.idle_bytes;
    out->frag_waiting_bytes = out->active_bytes.current - out->allocated_bytes.current;
    out->frag_cache_bytes = dev->out_bytes - out->active_bytes.current;
    walk_all(w);
    size_t explained = out->frag_cache_bytes + out->frag_free_bytes + out->frag_idle_bytes +
                       out->frag_pinned_bytes + out->frag_split_bytes + out->frag_stream_bytes +
                       out->frag_pool_bytes + out->frag_waiting_bytes;
    out->frag_free_bytes += out->reserved_bytes.current - out->allocated_bytes.current - explained;
}

/* A new segment is always possible where a run is too short. */
static void read_largest(struct walk *w)
{
    const struct xs_device *dev = w->dev;
    struct xseg_stats *out = w->out;
    bool moves = dev->policy.expandable_segments && !dev->no_vmm;
    w->reclaimable += out->frag_idle_bytes;
    w->again = true;
    out->largest_reclaimable_bytes = moves ? w->reclaimable : 0;
    out->largest_obtainable_bytes = w->reclaimable + w->fresh;
    walk_all(w);
}

static void read_driver(const struct xs_device *dev, struct xseg_stats *out)
{
    uint64_t now[XS_STATS_DRIVER_COUNT];
    uint64_t *const fields[] = {&out->driver_create, &out->driver_release,    &out->driver_map,
                                &out->driver_unmap,  &out->driver_set_access, &out->driver_ns,
                                &out->driver_wall_ns};
    _Static_assert(XS_COUNT_OF(fields) == XS_STATS_DRIVER_COUNT, "one field each");
    driver_counters(now);
    for (unsigned i = 0; i < XS_COUNT_OF(fields); i++)
        *fields[i] = now[i] - dev->stats.driver_base[i];
}

static void read_metadata(const struct xs_device *dev, struct xseg_stats *out)
{
    size_t blocks = dev->records.live, gib = out->reserved_bytes.current / XS_GIB;
    out->metadata_bytes = xs_meta_bytes();
    out->metadata_bytes_per_block = blocks ? out->metadata_bytes / blocks : 0;
    out->metadata_bytes_per_gib = gib ? out->metadata_bytes / gib : 0;
}

static void read_memory(const struct xs_device *dev, size_t free_bytes, struct xseg_stats *out)
{
    size_t total = dev->caps.total_bytes, reserved = out->reserved_bytes.current;
    out->limit_bytes = dev->limit_bytes == SIZE_MAX ? UINT64_MAX : dev->limit_bytes;
    out->device_total_bytes = total;
    out->device_free_bytes = out->other_bytes = free_bytes;
    if (free_bytes != UINT64_MAX)
        out->other_bytes = total > free_bytes + reserved ? total - free_bytes - reserved : 0;
}

/* What only a reading sees: the gauge follows it. */
static void follow(struct xseg_gauge *gauge, struct xseg_gauge *out, uint64_t seen)
{
    if (seen > gauge->current)
        xs_gauge_add(gauge, seen - gauge->current);
    else
        xs_gauge_sub(gauge, gauge->current - seen);
    *out = *gauge;
}

/* ---- a reading -------------------------------------------------------------------------------- */

size_t xs_reading_device_free(struct xs_device *dev)
{
    struct xs_context_scope scope;
    size_t free_bytes, total;
    if (!atomic_load(&dev->context.bound) || xs_context_enter(&dev->context, &scope))
        return UINT64_MAX;
    xs_cu_result code = xs_cu_mem_get_info(&free_bytes, &total);
    xs_context_leave(&scope);
    return code ? UINT64_MAX : free_bytes;
}

void xs_reading_lock(struct xs_device *dev)
{
    xs_lock_acquire(&dev->caches_lock);
    xs_lock_acquire(&dev->lock);
    xs_account_merge_all(dev, xs_caches_own(dev));
}

void xs_reading_unlock(struct xs_device *dev)
{
    xs_lock_release(&dev->lock);
    xs_lock_release(&dev->caches_lock);
}

void xs_reading_take_locked(struct xs_device *dev, const struct xs_pool *asking, size_t free_bytes,
                            struct xseg_stats *out)
{
    struct xseg_stats *now = &dev->stats.now;
    struct walk w = {.dev = dev, .out = out, .asking = asking, .fresh = headroom(dev, free_bytes)};
    xs_assert_held(&dev->lock);
    *out = *now;
    out->device = dev->caps.ordinal;
    out->unreleasable_blocks.current = 0;
    read_memory(dev, free_bytes, out);
    read_metadata(dev, out);
    read_fragmentation(&w);
    read_largest(&w);
    out->pinned_extents = 0;
    XS_LIST_FOR_EACH(link, &dev->pools)
        out->pinned_extents += count_pinned(&xs_pool_of_link(link)->expandable);
    follow(&now->unreleasable_blocks, &out->unreleasable_blocks, out->unreleasable_blocks.current);
    follow(&now->unreleasable_bytes, &out->unreleasable_bytes,
           out->frag_pinned_bytes + out->frag_split_bytes);
    read_driver(dev, out);
}

void xs_reading_take(struct xs_device *dev, struct xseg_stats *out)
{
    size_t free_bytes = xs_reading_device_free(dev);
    xs_reading_lock(dev);
    xs_reading_take_locked(dev, &dev->main, free_bytes, out);
    xs_reading_unlock(dev);
}

void xs_reading_take_brief(struct xs_device *dev, struct xseg_stats *out)
{
    xs_reading_lock(dev);
    *out = dev->stats.now;
    out->device = dev->caps.ordinal;
    read_memory(dev, UINT64_MAX, out);
    read_metadata(dev, out);
    read_driver(dev, out);
    out->frag_idle_bytes = dev->extents.idle_bytes;
    out->frag_waiting_bytes = out->active_bytes.current - out->allocated_bytes.current;
    out->frag_cache_bytes = dev->out_bytes - out->active_bytes.current;
    uint64_t *const walked[] = {&out->frag_free_bytes,           &out->frag_pinned_bytes,
                                &out->frag_split_bytes,          &out->frag_stream_bytes,
                                &out->largest_free_bytes,        &out->waiting_blocks,
                                &out->largest_reclaimable_bytes, &out->pinned_extents,
                                &out->largest_obtainable_bytes,  &out->frag_pool_bytes};
    for (unsigned i = 0; i < XS_COUNT_OF(walked); i++)
        *walked[i] = UINT64_MAX;
    xs_reading_unlock(dev);
}

void xs_reading_reset_totals(struct xs_device *dev)
{
    xs_reading_lock(dev);
    xs_stats_reset_totals(&dev->stats.now);
    driver_counters(dev->stats.driver_base);
    xs_reading_unlock(dev);
}

void xs_reading_reset_peaks(struct xs_device *dev)
{
    xs_reading_lock(dev);
    xs_stats_reset_peaks(&dev->stats.now);
    XS_LIST_FOR_EACH(link, &dev->pools)
        if (!xs_pool_is_default(xs_pool_of_link(link)))
            xs_pool_reset_peaks(xs_pool_of_link(link));
    xs_reading_unlock(dev);
}
