#include "report/snapshot_read.h"

#include <string.h>

#include "base/error.h"
#include "report/snapshot_write.h"
#include "report/unpickle.h"

struct reading {
    struct xs_snapshots *set;
    const char *name;
    struct xs_names stacks; /* texts of all stacks so far: number n is stack n */
    bool failed;            /* no memory */
};

void xs_snapshots_drop(struct xs_snapshots *set)
{
    for (size_t i = 0; i < set->count; i++)
        xs_snapshot_drop(xs_snapshots_at(set, i));
    xs_array_drop(&set->memory);
    set->count = 0;
}

/* Another allocator's says little of the device. */
static struct xs_snapshot *add_snapshot(struct xs_snapshots *set, int device)
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
    struct xs_snapshot *s = device < 1024 ? add_snapshot(r->set, (int)device) : NULL;
    r->failed |= !s;
    return s;
}

static uint32_t name_of(struct xs_snapshot *s, const struct xs_value *text)
{
    if (!text || text->kind != XS_VALUE_TEXT)
        return 0;
    uint32_t name = xs_names_number(&s->names, text->text, text->length);
    return name == UINT32_MAX ? 0 : name;
}

/* ---- stacks ----------------------------------------------------------------------------------- */

#define FRAMES_MAX 32

static void add_frames(struct xs_snapshot *s, const struct xs_value *frames)
{
    for (size_t i = 0; i < xs_value_count(frames) && i < FRAMES_MAX; i++) {
        const struct xs_value *from = xs_value_at(frames, i);
        uint32_t function = name_of(s, xs_value_get(from, "name"));
        uint32_t file = name_of(s, xs_value_get(from, "filename"));
        struct xs_snap_frame *frame = xs_snapshot_add_frame(s);
        if (frame)
            *frame = (struct xs_snap_frame){
                function, file, (uint32_t)xs_value_number(xs_value_get(from, "line"), 0)};
    }
}

/* What tells one stack from another: the numbers of its frames' names. */
static size_t key_of(struct xs_snapshot *s, const struct xs_value *frames, char *out, size_t size)
{
    size_t length = (size_t)snprintf(out, size, "%d;", s->device);
    for (size_t i = 0; i < xs_value_count(frames) && i < FRAMES_MAX; i++) {
        const struct xs_value *from = xs_value_at(frames, i);
        length += (size_t)snprintf(out + length, size - length, "%u:%u:%u;",
                                   name_of(s, xs_value_get(from, "name")),
                                   name_of(s, xs_value_get(from, "filename")),
                                   (uint32_t)xs_value_number(xs_value_get(from, "line"), 0));
    }
    return length;
}

static uint32_t stack_of(struct reading *r, struct xs_snapshot *s, const struct xs_value *frames)
{
    char key[FRAMES_MAX * 36 + 16];
    if (!xs_value_count(frames))
        return 0;
    size_t length = key_of(s, frames, key, sizeof(key));
    uint32_t before = r->stacks.count;
    uint32_t number = xs_names_number(&r->stacks, key, length);
    if (number == UINT32_MAX || (!s->n_stacks && !xs_snapshot_add_stack(s)))
        return 0;
    if (r->stacks.count == before)
        return number;
    while (s->n_stacks <= number) /* another device's have their numbers too */
        if (!xs_snapshot_add_stack(s))
            return 0;
    add_frames(s, frames);
    return number;
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
        b.tag = name_of(s, xs_value_get(from, "user_metadata"));
        b.stack = stack_of(r, s, xs_value_get(from, "frames"));
    }
    struct xs_snap_block *to = xs_snapshot_add_block(s);
    r->failed |= !to;
    if (to)
        *to = b;
}

static enum xseg_result read_segment(struct reading *r, const struct xs_value *from)
{
    struct xs_snapshot *s = of_device(r, xs_value_number(xs_value_get(from, "device"), 0));
    struct xs_snap_segment *segment = s ? xs_snapshot_add_segment(s) : NULL;
    if (!segment)
        return r->failed ? XSEG_OK : xs_fail(XSEG_ERROR_IO, "%s: a segment of no device", r->name);
    const struct xs_value *blocks = xs_value_get(from, "blocks");
    uint64_t va = xs_value_number(xs_value_get(from, "address"), 0), begin = va;
    size_t first = s->n_blocks;
    *segment = (struct xs_snap_segment){
        .va = va,
        .bytes = xs_value_number(xs_value_get(from, "total_size"), 0),
        .first_block = first,
        .is_expandable = xs_value_number(xs_value_get(from, "is_expandable"), 0) != 0,
        .n_blocks = xs_value_count(blocks),
    };
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
    e.tag = name_of(s, xs_value_get(from, "user_metadata"));
    e.stack = stack_of(r, s, xs_value_get(from, "frames"));
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
    xs_names_number(&r.stacks, "", 0);
    e = read_root(&r, &u.root);
    xs_names_drop(&r.stacks);
    xs_unpickle_drop(&u);
    if (e)
        xs_snapshots_drop(set);
    return e;
}

/* ---- traces ----------------------------------------------------------------------------------- */

/* The event after which most was live. */
static size_t find_peak(const struct xs_trace *trace)
{
    uint64_t live = 0, most = 0;
    size_t peak = 0;
    for (size_t i = 0; i < trace->header.events; i++) {
        const struct xs_trace_event *e = &trace->events[i];
        live += e->kind == XS_TRACE_ALLOC ? e->size : -e->size;
        if (live > most) {
            most = live;
            peak = i + 1;
        }
    }
    return peak;
}

#define SLOT_VA(slot) (((uint64_t)(slot) + 1) << 40)

static bool add_events(struct xs_snapshot *s, const struct xs_trace *trace)
{
    for (size_t i = 0; i < trace->header.events; i++) {
        const struct xs_trace_event *from = &trace->events[i];
        struct xs_event *e = xs_snapshot_add_event(s);
        if (!e)
            return false;
        *e = (struct xs_event){
            .time_ns = i * 1000000,
            .va = SLOT_VA(from->slot),
            .bytes = from->size,
            .stream = from->stream,
            .kind = from->kind == XS_TRACE_ALLOC ? XS_EVENT_ALLOC : XS_EVENT_FREE,
        };
    }
    return true;
}

/* Live blocks side by side, in the order of their births. */
static bool add_live(struct xs_snapshot *s, const struct xs_trace *trace, size_t peak)
{
    struct xs_array memory = {0};
    if (!xs_array_reserve(&memory, (trace->n_slots + 1) * sizeof(size_t)))
        return false;
    size_t *born = memory.base; /* + 1 */
    for (size_t i = 0; i < peak; i++)
        born[trace->events[i].slot] = trace->events[i].kind == XS_TRACE_ALLOC ? i + 1 : 0;
    struct xs_snap_segment *segment = xs_snapshot_add_segment(s);
    uint64_t va = SLOT_VA(trace->n_slots);
    bool ok = segment != NULL;
    if (ok)
        *segment = (struct xs_snap_segment){.va = va, .is_expandable = true};
    for (size_t i = 0; i < peak && ok; i++) {
        const struct xs_trace_event *e = &trace->events[i];
        if (born[e->slot] != i + 1)
            continue;
        struct xs_snap_block *b = xs_snapshot_add_block(s);
        ok = b != NULL;
        if (ok)
            *b = (struct xs_snap_block){.va = va,
                                        .bytes = e->size,
                                        .requested = e->size,
                                        .stream = e->stream,
                                        .age_ms = peak - 1 - i};
        va += e->size;
        s->segments[0].bytes += e->size;
        s->segments[0].n_blocks++;
    }
    xs_array_drop(&memory);
    return ok;
}

enum xseg_result xs_snapshots_of_trace(struct xs_snapshots *set, const struct xs_trace *trace)
{
    memset(set, 0, sizeof(*set));
    struct xs_snapshot *s = add_snapshot(set, 0);
    size_t peak = find_peak(trace);
    if (!s || !add_events(s, trace) || !add_live(s, trace, peak)) {
        xs_snapshots_drop(set);
        return xs_fail(XSEG_ERROR_HOST_MEMORY, "no memory for the trace's snapshot");
    }
    s->complete = true;
    s->time_ns = peak * 1000000;
    return XSEG_OK;
}
