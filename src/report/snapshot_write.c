#include "report/snapshot_write.h"

#include <string.h>

#include "core/pool.h"

static const char *const own_states[] = {"live", "waiting", "cached", "free"};

const char *xs_snapshot_state_word(enum xs_snap_state state)
{
    return state == XS_SNAP_LIVE      ? "active_allocated"
           : state == XS_SNAP_WAITING ? "active_pending_free"
                                      : "inactive";
}

const char *xs_snapshot_event_word(enum xs_event_kind kind)
{
    static const char *const words[XS_EVENT_KINDS] = {
        [XS_EVENT_ALLOC] = "alloc",
        [XS_EVENT_FREE] = "free",
        [XS_EVENT_FREE_REQUESTED] = "free_requested",
        [XS_EVENT_FREE_COMPLETED] = "free_completed",
        [XS_EVENT_MAP] = "segment_map",
        [XS_EVENT_UNMAP] = "segment_unmap",
        [XS_EVENT_SEGMENT_ALLOC] = "segment_alloc",
        [XS_EVENT_SEGMENT_FREE] = "segment_free",
        [XS_EVENT_OUT_OF_MEMORY] = "oom",
    };
    return kind < XS_EVENT_KINDS ? words[kind] : "?";
}

static void frames(struct xs_document *d, const struct xs_snapshot *s, uint32_t stack)
{
    xs_document_open(d, "frames", '[');
    const struct xs_snap_stack *of = stack < s->n_stacks ? &s->stacks[stack] : NULL;
    for (uint32_t i = 0; of && i < of->n_frames; i++) {
        const struct xs_snap_frame *frame = &s->frames[of->first_frame + i];
        xs_document_open(d, NULL, '{');
        xs_document_text(d, "name", xs_snapshot_name(s, frame->function));
        xs_document_text(d, "filename", xs_snapshot_name(s, frame->file));
        xs_document_count(d, "line", frame->line);
        xs_document_close(d, '}');
    }
    xs_document_close(d, ']');
}

static void pool_id(struct xs_document *d, const char *key, uint64_t pool)
{
    xs_document_open(d, key, '(');
    xs_document_count(d, NULL, 0);
    xs_document_count(d, NULL, pool);
    xs_document_close(d, ')');
}

/* ---- state ------------------------------------------------------------------------------------ */

static void block(struct xs_document *d, const struct xs_snapshot *s, const struct xs_snap_block *b)
{
    xs_document_open(d, NULL, '{');
    xs_document_count(d, "address", b->va);
    xs_document_count(d, "size", b->bytes);
    xs_document_count(d, "requested_size", b->requested);
    xs_document_text(d, "state", xs_snapshot_state_word(b->state));
    frames(d, s, b->stack);
    xs_document_text(d, "xseg_state", own_states[b->state]);
    xs_document_count(d, "stream", b->stream);
    if (b->state <= XS_SNAP_WAITING) {
        xs_document_text(d, "user_metadata", xs_snapshot_name(s, b->tag));
        xs_document_count(d, "age_ms", b->age_ms);
    } else {
        xs_document_bool(d, "passed", b->passed);
    }
    xs_document_close(d, '}');
}

struct sums {
    uint64_t allocated, active, requested;
};

static struct sums sum_up(const struct xs_snapshot *s, const struct xs_snap_segment *segment)
{
    struct sums sums = {0};
    for (size_t i = 0; i < segment->n_blocks; i++) {
        const struct xs_snap_block *b = &s->blocks[segment->first_block + i];
        sums.allocated += b->state == XS_SNAP_LIVE ? b->bytes : 0;
        sums.active += b->state <= XS_SNAP_WAITING ? b->bytes : 0;
        sums.requested += b->state <= XS_SNAP_WAITING ? b->requested : 0;
    }
    return sums;
}

/* The stream is always 0: a segment serves all streams, and its blocks say which. */
static void segment(struct xs_document *d, const struct xs_snapshot *s,
                    const struct xs_snap_segment *segment)
{
    const struct sums sums = sum_up(s, segment);
    xs_document_open(d, NULL, '{');
    xs_document_signed(d, "device", s->device);
    xs_document_count(d, "address", segment->va);
    xs_document_count(d, "total_size", segment->bytes);
    xs_document_count(d, "allocated_size", sums.allocated);
    xs_document_count(d, "active_size", sums.active);
    xs_document_count(d, "requested_size", sums.requested);
    xs_document_count(d, "stream", 0);
    xs_document_text(d, "segment_type", "large");
    pool_id(d, "segment_pool_id", segment->pool);
    xs_document_bool(d, "pool_held", segment->is_held);
    xs_document_bool(d, "is_expandable", segment->is_expandable);
    frames(d, s, 0);
    xs_document_open(d, "blocks", '[');
    for (size_t i = 0; i < segment->n_blocks; i++)
        block(d, s, &s->blocks[segment->first_block + i]);
    xs_document_close(d, ']');
    xs_document_close(d, '}');
}

static void segments(struct xs_document *d, const struct xs_snapshot *s, size_t n)
{
    xs_document_open(d, "segments", '[');
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < s[i].n_segments; k++)
            segment(d, &s[i], &s[i].segments[k]);
    xs_document_close(d, ']');
}

/* ---- events ----------------------------------------------------------------------------------- */

static void event(struct xs_document *d, const struct xs_snapshot *s, const struct xs_event *e,
                  const char *action)
{
    bool is_oom = e->kind == XS_EVENT_OUT_OF_MEMORY;
    bool is_mapping = e->kind >= XS_EVENT_MAP && e->kind <= XS_EVENT_SEGMENT_FREE;
    xs_document_open(d, NULL, '{');
    xs_document_text(d, "action", action);
    xs_document_count(d, is_oom ? "device_free" : "addr", e->va);
    xs_document_count(d, "size", e->bytes);
    xs_document_count(d, "stream", is_mapping ? 0 : e->stream);
    xs_document_count(d, "time_us",
                      s->time_us - (s->time_ns > e->time_ns ? s->time_ns - e->time_ns : 0) / 1000);
    xs_document_text(d, "compile_context", "N/A");
    xs_document_text(d, "user_metadata", xs_snapshot_name(s, e->tag));
    pool_id(d, "pool_id", xs_pool_name(e->pool, s->device));
    frames(d, s, e->stack);
    xs_document_count(d, "thread", e->thread);
    xs_document_close(d, '}');
}

/* A free that nobody else has to pass is both at once. */
static void trace(struct xs_document *d, const struct xs_snapshot *s)
{
    for (size_t i = 0; i < s->n_events; i++) {
        const struct xs_event *e = &s->events[i];
        if (e->kind != XS_EVENT_FREE) {
            event(d, s, e, xs_snapshot_event_word((enum xs_event_kind)e->kind));
            continue;
        }
        event(d, s, e, xs_snapshot_event_word(XS_EVENT_FREE_REQUESTED));
        event(d, s, e, xs_snapshot_event_word(XS_EVENT_FREE_COMPLETED));
    }
}

static void traces(struct xs_document *d, const struct xs_snapshot *s, size_t n)
{
    int last = -1;
    for (size_t i = 0; i < n; i++)
        last = s[i].device > last ? s[i].device : last;
    xs_document_open(d, "device_traces", '[');
    for (int device = 0; device <= last; device++) {
        xs_document_open(d, NULL, '[');
        for (size_t i = 0; i < n; i++)
            if (s[i].device == device)
                trace(d, &s[i]);
        xs_document_close(d, ']');
    }
    xs_document_close(d, ']');
}

/* ---- the rest --------------------------------------------------------------------------------- */

/* The value of a key in the settings' text; "" where it is not there. */
static const char *setting(const struct xs_snapshot *s, const char *key, char out[64])
{
    size_t length = strlen(key);
    out[0] = '\0';
    for (const char *at = s->settings; (at = strstr(at, key)); at += length)
        if ((at == s->settings || at[-1] == ',') && at[length] == ':') {
            snprintf(out, 64, "%.*s", (int)strcspn(at + length + 1, ","), at + length + 1);
            break;
        }
    return out;
}

static void settings(struct xs_document *d, const struct xs_snapshot *s)
{
    char value[64];
    xs_document_open(d, "allocator_settings", '{');
    xs_document_text(d, "PYTORCH_CUDA_ALLOC_CONF", s ? s->settings : "");
    xs_document_bool(d, "expandable_segments",
                     s && !strcmp(setting(s, "expandable_segments", value), "True"));
    xs_document_bool(d, "release_lock_on_cudamalloc", true);
    xs_document_close(d, '}');
}

static void own_device(struct xs_document *d, const struct xs_snapshot *s)
{
    xs_document_open(d, NULL, '{');
    xs_document_signed(d, "device", s->device);
    xs_document_count(d, "time_us", s->time_us);
    xs_document_bool(d, "complete", s->complete);
    xs_document_open(d, "stats", '{');
#define GAUGE(name, unit, text)                                                                    \
    xs_document_count(d, #name, s->stats.name.current);                                            \
    xs_document_count(d, #name "_peak", s->stats.name.peak);                                       \
    xs_document_count(d, #name "_allocated", s->stats.name.allocated);                             \
    xs_document_count(d, #name "_freed", s->stats.name.freed);
#define VALUE(name, unit, text) xs_document_count(d, #name, s->stats.name);
    XSEG_STATS_LIST(GAUGE, VALUE, VALUE)
#undef GAUGE
#undef VALUE
    xs_document_close(d, '}');
    xs_document_open(d, "extents", '[');
    for (size_t i = 0; i < s->n_extents; i++) {
        xs_document_open(d, NULL, '(');
        xs_document_count(d, NULL, s->extents[i].va);
        xs_document_count(d, NULL, s->extents[i].bytes);
        xs_document_close(d, ')');
    }
    xs_document_close(d, ']');
    xs_document_text(d, "settings", s->settings);
    xs_document_close(d, '}');
}

bool xs_snapshot_write(xs_out_write write, void *ctx, bool is_pickle, const struct xs_snapshot *s,
                       size_t n)
{
    struct xs_out out;
    struct xs_document d;
    xs_out_begin(&out, write, ctx);
    xs_document_begin(&d, &out, is_pickle);
    xs_document_open(&d, NULL, '{');
    segments(&d, s, n);
    traces(&d, s, n);
    settings(&d, n ? &s[0] : NULL);
    xs_document_open(&d, "external_annotations", '[');
    xs_document_close(&d, ']');
    xs_document_open(&d, "xseg", '{');
    xs_document_text(&d, "version", xseg_version());
    xs_document_open(&d, "devices", '[');
    for (size_t i = 0; i < n; i++)
        own_device(&d, &s[i]);
    xs_document_close(&d, ']');
    xs_document_close(&d, '}');
    xs_document_close(&d, '}');
    xs_document_end(&d);
    return xs_out_end(&out);
}
