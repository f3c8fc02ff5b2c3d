#include "report/snapshot_read.h"

#include <string.h>

#include "base/error.h"
#include "report/snapshot_write.h"
#include "report/stack_read.h"
#include "report/unpickle.h"

struct reading {
    struct xs_snapshots *set;
    const char *name;
    struct xs_stack_reader stacks;
    bool failed; /* no memory */
};

void xs_snapshots_drop(struct xs_snapshots *set)
{
    for (size_t i = 0; i < set->count; i++)
        xs_snapshot_drop(xs_snapshots_at(set, i));
    xs_array_drop(&set->memory);
    set->count = 0;
}

/* Another allocator's says little of the device. */
struct xs_snapshot *xs_snapshots_add(struct xs_snapshots *set, int device)
{
    if (!xs_array_reserve(&set->memory, (set->count + 1) * sizeof(struct xs_snapshot)))
        return NULL;
    struct xs_snapshot *s = xs_snapshots_at(set, set->count++);
    memset(s, 0, sizeof(*s));
    s->device = device;
    s->stats.limit_bytes = s->stats.device_free_bytes = s->stats.other_bytes = UINT64_MAX;
    xs_names_number(&s->names, "", 0);
    return s;
}

static struct xs_snapshot *of_device(struct reading *r, uint64_t device)
{
    for (size_t i = 0; i < r->set->count; i++)
        if ((uint64_t)xs_snapshots_at(r->set, i)->device == device)
            return xs_snapshots_at(r->set, i);
    struct xs_snapshot *s = device < 1024 ? xs_snapshots_add(r->set, (int)device) : NULL;
    r->failed |= !s;
    return s;
}

/* ---- state ------------------------------------------------------------------------------------ */

static enum xs_snap_state state_of(const struct xs_value *block)
{
    const struct xs_value *state = xs_value_get(block, "state");
    if (xs_value_is_text(state, "active_allocated"))
        return XS_SNAP_LIVE;
    if (xs_value_is_text(state, "active_pending_free") ||
        xs_value_is_text(state, "active_awaiting_free"))
        return XS_SNAP_WAITING;
    return xs_value_is_text(xs_value_get(block, "xseg_state"), "cached") ? XS_SNAP_CACHED
                                                                         : XS_SNAP_FREE;
}

/* Addresses are summed up, as the viewer does; so blocks tile their segment whatever the file says. */
static void read_block(struct reading *r, struct xs_snapshot *s, const struct xs_value *from,
                       uint64_t va, uint64_t stream)
{
    struct xs_snap_block b = {
        .va = va,
        .bytes = xs_value_number(xs_value_get(from, "size"), 0),
        .stream = xs_value_number(xs_value_get(from, "stream"), stream),
        .age_ms = xs_value_number(xs_value_get(from, "age_ms"), UINT64_MAX),
        .state = (uint8_t)state_of(from),
        .passed = xs_value_number(xs_value_get(from, "passed"), 1) != 0,
    };
    if (b.state <= XS_SNAP_WAITING) {
        b.requested = xs_value_number(xs_value_get(from, "requested_size"), b.bytes);
        b.tag = xs_stack_read_name(s, xs_value_get(from, "user_metadata"));
        b.stack = xs_stack_read(&r->stacks, s, xs_value_get(from, "frames"));
    }
    struct xs_snap_block *to = xs_snapshot_add_block(s);
    r->failed |= !to;
    if (to)
        *to = b;
}

/* PyTorch's are pairs of numbers of which one is 0, and what is free in one serves no other. */
static void read_pool(struct xs_snap_segment *segment, const struct xs_value *from)
{
    const struct xs_value *id = xs_value_get(from, "segment_pool_id");
    uint64_t first = xs_value_number(xs_value_at(id, 0), 0);
    segment->pool = first << 48 | xs_value_number(xs_value_at(id, 1), 0);
    segment->is_held = xs_value_number(xs_value_get(from, "pool_held"), segment->pool != 0) != 0;
}

static enum xseg_result read_segment(struct reading *r, const struct xs_value *from)
{
    struct xs_snapshot *s = of_device(r, xs_value_number(xs_value_get(from, "device"), 0));
    struct xs_snap_segment *segment = s ? xs_snapshot_add_segment(s) : NULL;
    if (!segment)
        return r->failed ? XSEG_OK : xs_fail(XSEG_ERROR_IO, "%s: a segment of no device", r->name);
    const struct xs_value *blocks = xs_value_get(from, "blocks");
    const struct xs_value *pool = xs_value_get(from, "segment_pool_id");
    uint64_t va = xs_value_number(xs_value_get(from, "address"), 0), begin = va;
    size_t first = s->n_blocks;
    *segment = (struct xs_snap_segment){
        .va = va,
        .bytes = xs_value_number(xs_value_get(from, "total_size"), 0),
        .first_block = first,
        .pool = xs_value_number(xs_value_at(pool, 0), 0) | xs_value_number(xs_value_at(pool, 1), 0),
        .is_expandable = xs_value_number(xs_value_get(from, "is_expandable"), 0) != 0,
        .n_blocks = xs_value_count(blocks),
    };
    read_pool(segment, from);
    uint64_t bytes = segment->bytes, stream = xs_value_number(xs_value_get(from, "stream"), 0);
    for (size_t i = 0; i < xs_value_count(blocks) && !r->failed; i++) {
        read_block(r, s, xs_value_at(blocks, i), va, stream);
        uint64_t block = r->failed ? 0 : s->blocks[s->n_blocks - 1].bytes;
        if (!r->failed && (!block || block > bytes - (va - begin)))
            return xs_fail(XSEG_ERROR_IO, "%s: the blocks of segment 0x%llx do not tile it",
                           r->name, (unsigned long long)begin);
        va += block;
    }
    if (!r->failed && va - begin != bytes)
        return xs_fail(XSEG_ERROR_IO, "%s: the blocks of segment 0x%llx do not tile it", r->name,
                       (unsigned long long)begin);
    return XSEG_OK;
}

/* ---- events ----------------------------------------------------------------------------------- */

static bool read_kind(const struct xs_value *action, uint32_t *kind)
{
    for (unsigned i = 0; i < XS_EVENT_KINDS; i++)
        if (xs_value_is_text(action, xs_snapshot_event_word((enum xs_event_kind)i))) {
            *kind = i;
            return true;
        }
    return false;
}

/* A free that is completed at once is one event here. */
static bool completes_last(const struct xs_snapshot *s, const struct xs_event *e)
{
    const struct xs_event *last = s->n_events ? &s->events[s->n_events - 1] : NULL;
    return last && e->kind == XS_EVENT_FREE_COMPLETED && last->kind == XS_EVENT_FREE_REQUESTED &&
           last->va == e->va;
}

static void read_event(struct reading *r, struct xs_snapshot *s, const struct xs_value *from)
{
    struct xs_event e = {
        .time_ns = xs_value_number(xs_value_get(from, "time_us"), 0) * 1000,
        .va = xs_value_number(xs_value_get(from, "addr"), 0),
        .bytes = xs_value_number(xs_value_get(from, "size"), 0),
        .stream = xs_value_number(xs_value_get(from, "stream"), 0),
        .thread = (uint32_t)xs_value_number(xs_value_get(from, "thread"), 0),
    };
    if (!read_kind(xs_value_get(from, "action"), &e.kind))
        return; /* "snapshot", or of a later day */
    if (e.kind == XS_EVENT_OUT_OF_MEMORY)
        e.va = xs_value_number(xs_value_get(from, "device_free"), 0);
    if (completes_last(s, &e)) {
        s->events[s->n_events - 1].kind = XS_EVENT_FREE;
        return;
    }
    e.tag = xs_stack_read_name(s, xs_value_get(from, "user_metadata"));
    e.stack = xs_stack_read(&r->stacks, s, xs_value_get(from, "frames"));
    struct xs_event *to = xs_snapshot_add_event(s);
    r->failed |= !to;
    if (to)
        *to = e;
}

static void read_events(struct reading *r, const struct xs_value *traces)
{
    for (size_t d = 0; d < xs_value_count(traces); d++) {
        const struct xs_value *trace = xs_value_at(traces, d);
        struct xs_snapshot *s = xs_value_count(trace) ? of_device(r, d) : NULL;
        for (size_t i = 0; s && i < xs_value_count(trace) && !r->failed; i++)
            read_event(r, s, xs_value_at(trace, i));
    }
}

/* ---- the rest --------------------------------------------------------------------------------- */

static void read_own_stats(struct xs_snapshot *s, const struct xs_value *stats)
{
#define READ(key, otherwise) xs_value_number(xs_value_get(stats, key), otherwise)
#define GAUGE(name, unit, text)                                                                    \
    s->stats.name.current = READ(#name, 0);                                                        \
    s->stats.name.peak = READ(#name "_peak", 0);                                                   \
    s->stats.name.allocated = READ(#name "_allocated", 0);                                         \
    s->stats.name.freed = READ(#name "_freed", 0);
#define VALUE(name, unit, text) s->stats.name = READ(#name, s->stats.name);
    XSEG_STATS_LIST(GAUGE, VALUE, VALUE)
#undef GAUGE
#undef VALUE
#undef READ
}

static void copy_text(char *out, size_t size, const struct xs_value *text)
{
    if (text && text->kind == XS_VALUE_TEXT)
        snprintf(out, size, "%.*s", (int)xs_min(text->length, size - 1), text->text);
}

static void read_own(struct reading *r, const struct xs_value *device)
{
    struct xs_snapshot *s = of_device(r, xs_value_number(xs_value_get(device, "device"), 0));
    const struct xs_value *extents = xs_value_get(device, "extents");
    if (!s)
        return;
    s->is_ours = true;
    s->complete = xs_value_number(xs_value_get(device, "complete"), 0) != 0;
    s->time_us = xs_value_number(xs_value_get(device, "time_us"), 0);
    copy_text(s->settings, sizeof(s->settings), xs_value_get(device, "settings"));
    read_own_stats(s, xs_value_get(device, "stats"));
    for (size_t i = 0; i < xs_value_count(extents) && !r->failed; i++) {
        const struct xs_value *pair = xs_value_at(extents, i);
        struct xs_snap_extent *e = xs_snapshot_add_extent(s);
        r->failed |= !e;
        if (e)
            *e = (struct xs_snap_extent){xs_value_number(xs_value_at(pair, 0), 0),
                                         xs_value_number(xs_value_at(pair, 1), 0)};
    }
}

/* Ages that the file does not say: from the event that made the block, or else from before the first one. */
static void find_ages(struct xs_snapshot *s)
{
    for (size_t i = 0; s->n_events && i < s->n_blocks; i++) {
        struct xs_snap_block *b = &s->blocks[i];
        if (b->state <= XS_SNAP_WAITING && b->age_ms == UINT64_MAX)
            b->age_ms = (s->time_ns - s->events[0].time_ns) / 1000000 + 1000;
    }
    for (size_t i = 0; i < s->n_events; i++) {
        const struct xs_event *e = &s->events[i];
        struct xs_snap_block *b = e->kind == XS_EVENT_ALLOC ? xs_snapshot_block_at(s, e->va) : NULL;
        if (b && b->state <= XS_SNAP_WAITING && s->time_ns >= e->time_ns)
            b->age_ms = (s->time_ns - e->time_ns) / 1000000;
    }
}

static void finish(struct xs_snapshot *s, const struct xs_value *root)
{
    const struct xs_event *last = s->n_events ? &s->events[s->n_events - 1] : NULL;
    if (!s->is_ours) {
        const struct xs_value *settings = xs_value_get(root, "allocator_settings");
        bool on = xs_value_number(xs_value_get(settings, "expandable_segments"), 0) != 0;
        snprintf(s->settings, sizeof(s->settings), "expandable_segments:%s,",
                 on ? "True" : "False");
        s->time_us = last ? last->time_ns / 1000 : 0;
        if (last && last->kind == XS_EVENT_OUT_OF_MEMORY)
            s->stats.device_free_bytes = last->va;
    }
    s->time_ns = s->time_us * 1000;
    xs_snapshot_sort(s);
    if (!s->is_ours)
        find_ages(s);
}

static enum xseg_result read_root(struct reading *r, const struct xs_value *root)
{
    const struct xs_value *segments = xs_value_get(root, "segments");
    const struct xs_value *own = xs_value_get(xs_value_get(root, "xseg"), "devices");
    if (!segments && root->kind == XS_VALUE_LIST)
        segments = root; /* torch.cuda.memory_snapshot() */
    if (!segments || segments->kind != XS_VALUE_LIST)
        return xs_fail(XSEG_ERROR_IO, "%s: a pickle, but not of a snapshot", r->name);
    for (size_t i = 0; i < xs_value_count(own) && !r->failed; i++)
        read_own(r, xs_value_at(own, i));
    for (size_t i = 0; i < xs_value_count(segments) && !r->failed; i++) {
        enum xseg_result e = read_segment(r, xs_value_at(segments, i));
        if (e)
            return e;
    }
    read_events(r, xs_value_get(root, "device_traces"));
    for (size_t i = 0; i < r->set->count; i++)
        finish(xs_snapshots_at(r->set, i), root);
    return r->failed ? xs_fail(XSEG_ERROR_HOST_MEMORY, "%s: no memory to read it", r->name)
                     : XSEG_OK;
}

enum xseg_result xs_snapshots_read(struct xs_snapshots *set, const char *name, const void *data,
                                   size_t bytes)
{
    struct xs_unpickled u;
    struct reading r = {.set = set, .name = name};
    memset(set, 0, sizeof(*set));
    enum xseg_result e = xs_unpickle(&u, name, data, bytes);
    if (e)
        return e;
    e = read_root(&r, &u.root);
    xs_stack_reader_drop(&r.stacks);
    xs_unpickle_drop(&u);
    if (e)
        xs_snapshots_drop(set);
    return e;
}
