#include "report/snapshot_take.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/error.h"
#include "core/account.h"
#include "core/caches.h"
#include "core/reading.h"
#include "stats/stack.h"
#include "stats/tag.h"

/* Of each ring, how much had been written when the state was copied. */
struct noted_ring {
    const struct xs_ring *ring;
    uint64_t end;
    size_t first, count; /* of the events that were read */
    size_t next;         /* while merging */
};

struct take {
    struct xs_snapshot *s;
    struct xs_device *dev;
    uint32_t now_ms;
    uint64_t pool; /* whose heaps are being copied */
    bool is_held;
    bool full; /* there was no room: once more with more of it */
    struct xs_array noted;
    size_t n_rings;
};

/* ---- under the locks -------------------------------------------------------------------------- */

static enum xs_snap_state state_of(enum xs_block_state state)
{
    switch (state) {
    case XS_BLOCK_LIVE:
        return XS_SNAP_LIVE;
    case XS_BLOCK_WAITING:
        return XS_SNAP_WAITING;
    case XS_BLOCK_CACHED:
        return XS_SNAP_CACHED;
    default:
        return XS_SNAP_FREE;
    }
}

static struct xs_snap_block *next_block(struct take *t)
{
    struct xs_snapshot *s = t->s;
    if ((s->n_blocks + 1) * sizeof(*s->blocks) <= s->arrays[1].bytes)
        return xs_snapshot_add_block(s);
    t->full = true;
    return NULL;
}

static void copy_block(struct take *t, const struct xs_block *block)
{
    struct xs_snap_block *to = next_block(t);
    if (!to)
        return;
    to->va = xs_block_va(block);
    to->bytes = xs_block_bytes(block);
    to->state = (uint8_t)state_of(xs_block_state_of(block));
    to->passed = xs_block_has_passed(block, &t->dev->fences);
    to->stream = block->stream ? (uintptr_t)block->stream->key.handle : 0;
    if (to->state > XS_SNAP_WAITING)
        return;
    to->requested = block->requested;
    to->tag = block->origin.tag;
    to->age_ms = (uint32_t)(t->now_ms - block->origin.since_ms);
}

static bool is_mapped(const struct xs_segment *segment, const struct xs_block *block)
{
    return xs_block_state_of(block) != XS_BLOCK_HOLE &&
           (!segment->extent_at || xs_segment_extent_at(segment, xs_block_va(block)));
}

static struct xs_snap_segment *begin_run(struct take *t, const struct xs_segment *segment,
                                         uint64_t va)
{
    struct xs_snapshot *s = t->s;
    if ((s->n_segments + 1) * sizeof(*s->segments) > s->arrays[0].bytes) {
        t->full = true;
        return NULL;
    }
    struct xs_snap_segment *run = xs_snapshot_add_segment(s);
    run->va = va;
    run->first_block = s->n_blocks;
    run->is_expandable = segment->extent_at != NULL;
    run->pool = t->pool;
    run->is_held = t->is_held;
    return run;
}

static void copy_extent(struct take *t, const struct xs_extent *e)
{
    struct xs_snapshot *s = t->s;
    if ((s->n_extents + 1) * sizeof(*s->extents) > s->arrays[2].bytes) {
        t->full = true;
        return;
    }
    *xs_snapshot_add_extent(s) = (struct xs_snap_extent){e->va, e->bytes};
}

static void copy_extents(struct take *t, const struct xs_segment *segment, uint64_t va,
                         uint64_t end)
{
    while (va < end && !t->full) {
        const struct xs_extent *e = xs_segment_extent_at(segment, va);
        copy_extent(t, e);
        va = e->va + e->bytes;
    }
}

static void copy_segment(struct take *t, const struct xs_segment *segment)
{
    struct xs_snap_segment *run = NULL;
    XS_LIST_FOR_EACH(place, &segment->blocks) {
        const struct xs_block *block = xs_block_of_place(place);
        __builtin_prefetch(xs_block_of_place(place->next));
        if (!is_mapped(segment, block)) {
            run = NULL;
            continue;
        }
        if (!run)
            run = begin_run(t, segment, xs_block_va(block));
        if (!run)
            return;
        copy_block(t, block);
        run->bytes += xs_block_bytes(block);
        run->n_blocks++;
    }
}

static void copy_heap(struct take *t, const struct xs_heap *heap)
{
    XS_LIST_FOR_EACH(link, &heap->segments) {
        const struct xs_segment *segment = XS_CONTAINER_OF(link, const struct xs_segment, link);
        size_t first = t->s->n_segments;
        copy_segment(t, segment);
        for (size_t i = first; i < t->s->n_segments && segment->extent_at; i++) {
            const struct xs_snap_segment *run = &t->s->segments[i];
            copy_extents(t, segment, run->va, run->va + run->bytes);
        }
    }
}

static void copy_idle(struct take *t)
{
    for (unsigned i = 0; i < XS_EXTENT_SIZES; i++)
        XS_LIST_FOR_EACH(link, &t->dev->extents.idle[i])
            copy_extent(t, XS_CONTAINER_OF(link, struct xs_extent, link));
}

static void note_rings(struct take *t)
{
    XS_LIST_FOR_EACH(link, &t->dev->history.rings) {
        const struct xs_ring *ring = XS_CONTAINER_OF(link, struct xs_ring, link);
        if ((t->n_rings + 1) * sizeof(struct noted_ring) > t->noted.bytes) {
            t->full = true;
            return;
        }
        ((struct noted_ring *)t->noted.base)[t->n_rings++] =
            (struct noted_ring){.ring = ring, .end = atomic_load(&ring->written)};
    }
}

static void copy_state(struct take *t)
{
    t->now_ms = xs_clock_coarse_ms();
    t->s->time_ns = xs_clock_ns();
    XS_LIST_FOR_EACH(link, &t->dev->pools) {
        const struct xs_pool *pool = xs_pool_of_link(link);
        t->pool = pool->id;
        t->is_held = pool->held;
        copy_heap(t, &pool->expandable);
        for (unsigned i = 0; i < XS_CLASSIC_COUNT; i++)
            copy_heap(t, &pool->classic[i]);
    }
    copy_idle(t);
    note_rings(t);
}

/* ---- before and after ------------------------------------------------------------------------- */

static bool make_room(struct take *t)
{
    struct xs_snapshot *s = t->s;
    struct xs_device *dev = t->dev;
    xs_lock_acquire(&dev->lock);
    size_t blocks = dev->records.live, extents = dev->stats.now.extents.current, rings = 16;
    XS_LIST_FOR_EACH(link, &dev->history.rings)
        rings++;
    xs_lock_release(&dev->lock);
    s->n_segments = s->n_blocks = s->n_extents = t->n_rings = 0;
    t->full = false;
    if (!xs_snapshot_reserve(s, blocks / 2 + 1024, blocks + blocks / 4 + 1024,
                             extents + extents / 4 + 1024) ||
        !xs_array_reserve(&t->noted, rings * sizeof(struct noted_ring)))
        return false;
    for (unsigned i = 0; i < 3; i++) /* the pages come now, not while everybody waits */
        memset(s->arrays[i].base, 0, s->arrays[i].bytes);
    return true;
}

static void copy_settings(struct take *t)
{
    char text[XS_POLICY_TEXT_BYTES];
    xs_policy_format(&t->dev->policy, text);
    snprintf(t->s->settings, sizeof(t->s->settings), "%s", text);
}

static bool copy_all(struct take *t, const struct xs_pool *asking, size_t free_bytes)
{
    struct xs_device *dev = t->dev;
    do {
        if (!make_room(t))
            return false;
        xs_lock_acquire(&dev->caches_lock);
        xs_lock_acquire(&dev->lock);
        xs_account_stop(dev, xs_caches_own(dev));
        xs_account_merge_stopped(dev);
        copy_state(t);
        xs_account_go(dev, xs_caches_own(dev));
        if (!t->full) {
            xs_reading_take_locked(dev, asking, free_bytes, &t->s->stats);
            xs_history_begin_reading(&dev->history);
            copy_settings(t);
        }
        xs_lock_release(&dev->lock);
        xs_lock_release(&dev->caches_lock);
    } while (t->full);
    return true;
}

/* ---- events ----------------------------------------------------------------------------------- */

/* Each ring's events one after the other; *oldest: from when on there are all of them. */
static bool read_rings(struct take *t, struct xs_array *events, uint64_t *oldest)
{
    struct noted_ring *noted = t->noted.base;
    size_t n = 0;
    *oldest = 0;
    t->s->complete = true;
    for (size_t i = 0; i < t->n_rings; i++) {
        size_t capacity = noted[i].ring->mask + 1;
        size_t most = xs_min(capacity, noted[i].end);
        bool wrapped;
        if (!xs_array_reserve(events, (n + most) * sizeof(struct xs_event)))
            return false;
        struct xs_event *all = events->base;
        noted[i].first = noted[i].next = n;
        noted[i].count = xs_ring_read(noted[i].ring, noted[i].end, all + n, &wrapped);
        if (wrapped) {
            t->s->complete = false;
            uint64_t first = noted[i].count ? all[n].time_ns : t->s->time_ns;
            *oldest = first > *oldest ? first : *oldest;
        }
        n += noted[i].count;
    }
    return true;
}

static struct noted_ring *earliest(struct take *t, const struct xs_event *all)
{
    struct noted_ring *noted = t->noted.base, *best = NULL;
    for (size_t i = 0; i < t->n_rings; i++) {
        struct noted_ring *r = &noted[i];
        if (r->next < r->first + r->count &&
            (!best || all[r->next].time_ns < all[best->next].time_ns))
            best = r;
    }
    return best;
}

static bool merge_events(struct take *t)
{
    struct xs_array events = {0};
    uint64_t oldest;
    bool ok = read_rings(t, &events, &oldest);
    const struct xs_event *all = events.base;
    struct noted_ring *r;
    while (ok && (r = earliest(t, all))) {
        const struct xs_event *e = &all[r->next++];
        if (e->time_ns < oldest)
            continue;
        struct xs_event *to = xs_snapshot_add_event(t->s);
        ok = to != NULL;
        if (ok)
            *to = *e;
    }
    xs_array_drop(&events);
    return ok;
}

/* ---- names ------------------------------------------------------------------------------------ */

static uint32_t name(struct take *t, const char *text)
{
    uint32_t number = xs_names_number(&t->s->names, text, strlen(text));
    return number == UINT32_MAX ? 0 : number;
}

/* From the process's number of a tag or a stack to the snapshot's. */
static uint32_t translate(struct xs_array *map, uint32_t number,
                          uint32_t (*make)(struct take *, uint32_t), struct take *t)
{
    if (!number || !xs_array_reserve(map, (number + 1) * sizeof(uint32_t)))
        return 0;
    uint32_t *to = &((uint32_t *)map->base)[number];
    if (!*to)
        *to = make(t, number) + 1;
    return *to - 1;
}

static uint32_t name_tag(struct take *t, uint32_t tag)
{
    char path[XS_TAG_PATH_BYTES];
    return name(t, xs_tag_path(tag, path));
}

static void name_frame(struct take *t, const void *address)
{
    char file[600];
    const struct xs_frame_name f = xs_stack_name(address);
    struct xs_snap_frame *frame = xs_snapshot_add_frame(t->s);
    if (!frame)
        return;
    snprintf(file, sizeof(file), "%.560s+0x%zx", f.file, f.offset);
    frame->function = name(t, f.function);
    frame->file = name(t, file);
}

static uint32_t name_stack(struct take *t, uint32_t stack)
{
    const void *frames[XS_STACK_FRAMES];
    size_t n = xs_stack_frames(stack, frames);
    if (!t->s->n_stacks)
        xs_snapshot_add_stack(t->s); /* number 0 is none */
    if (!xs_snapshot_add_stack(t->s))
        return 0;
    for (size_t i = 0; i < n; i++)
        name_frame(t, frames[i]);
    return (uint32_t)t->s->n_stacks - 1;
}

static void give_names(struct take *t)
{
    struct xs_array tags = {0}, stacks = {0};
    name(t, "");
    for (size_t i = 0; i < t->s->n_blocks; i++)
        t->s->blocks[i].tag = translate(&tags, t->s->blocks[i].tag, name_tag, t);
    for (size_t i = 0; i < t->s->n_events; i++) {
        struct xs_event *e = &t->s->events[i];
        e->tag = translate(&tags, e->tag, name_tag, t);
        e->stack = translate(&stacks, e->stack, name_stack, t);
    }
    xs_array_drop(&tags);
    xs_array_drop(&stacks);
}

enum xseg_result xs_snapshot_take(struct xs_snapshot *s, struct xs_device *dev,
                                  const struct xs_pool *asking, size_t free_bytes)
{
    struct take t = {.s = s, .dev = dev};
    struct timespec wall;
    memset(s, 0, sizeof(*s));
    s->device = dev->caps.ordinal;
    s->is_ours = true;
    bool ok = copy_all(&t, asking, free_bytes);
    if (ok) {
        clock_gettime(CLOCK_REALTIME, &wall);
        s->time_us = (uint64_t)wall.tv_sec * 1000000 + (uint64_t)wall.tv_nsec / 1000 -
                     (xs_clock_ns() - s->time_ns) / 1000;
        ok = merge_events(&t);
        xs_lock_acquire(&dev->lock);
        xs_history_end_reading(&dev->history);
        xs_lock_release(&dev->lock);
    }
    if (ok)
        give_names(&t);
    xs_array_drop(&t.noted);
    if (!ok) {
        xs_snapshot_drop(s);
        return xs_fail(XSEG_ERROR_HOST_MEMORY, "no host memory for a snapshot");
    }
    xs_snapshot_sort(s);
    xs_snapshot_find_stacks(s);
    return XSEG_OK;
}
