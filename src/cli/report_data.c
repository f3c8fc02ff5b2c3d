#include "cli/report_data.h"

#include <string.h>

#include "report/diagnosis.h"
#include "report/trace_ids.h"

/* ---- columns in base64 ------------------------------------------------------------------------ */

static void print_base64(struct xs_out *out, const unsigned char *bytes, size_t n)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < n; i += 3) {
        size_t left = n - i;
        unsigned v = (unsigned)bytes[i] << 16 | (left > 1 ? (unsigned)bytes[i + 1] << 8 : 0) |
                     (left > 2 ? bytes[i + 2] : 0u);
        char four[4] = {digits[v >> 18], digits[v >> 12 & 63], left > 1 ? digits[v >> 6 & 63] : '=',
                        left > 2 ? digits[v & 63] : '='};
        xs_out_bytes(out, four, 4);
    }
}

static void column(struct xs_json *j, const char *key, const struct xs_array *array, size_t bytes)
{
    xs_json_text(j, key, ""); /* and between its quotes: */
    j->out->used--;
    print_base64(j->out, array->base, bytes);
    xs_out_text(j->out, "\"");
}

/* A column under construction. */
struct column {
    struct xs_array array;
    size_t n;
    bool failed;
};

static void add(struct column *c, const void *value, size_t bytes)
{
    if (!xs_array_reserve(&c->array, (c->n + 1) * bytes)) {
        c->failed = true;
        return;
    }
    memcpy((char *)c->array.base + c->n++ * bytes, value, bytes);
}

static void add_real(struct column *c, double value)
{
    add(c, &value, sizeof(value));
}

static void add_count(struct column *c, uint64_t value)
{
    uint32_t small = value > UINT32_MAX ? UINT32_MAX : (uint32_t)value;
    add(c, &small, sizeof(small));
}

static void print_columns(struct xs_json *j, const char *const *names, struct column *columns,
                          size_t n, const size_t *bytes)
{
    for (size_t i = 0; i < n; i++)
        column(j, names[i], &columns[i].array, columns[i].n * bytes[i]);
}

static bool drop_columns(struct column *columns, size_t n)
{
    bool ok = true;
    for (size_t i = 0; i < n; i++) {
        ok &= !columns[i].failed;
        xs_array_drop(&columns[i].array);
    }
    return ok;
}

/* ---- lives: what was allocated, from when to when --------------------------------------------- */

enum { LIFE_FROM, LIFE_TO, LIFE_BYTES, LIFE_VA, LIFE_TAG, LIFE_STREAM, LIFE_STACK, LIFE_COLUMNS };
static const char *const life_names[] = {"from", "to", "bytes", "va", "tag", "stream", "stack"};
static const size_t life_bytes[] = {8, 8, 8, 8, 4, 8, 4};

struct lives {
    struct column column[LIFE_COLUMNS];
    struct column old;   /* lives that were there before the first event */
    struct column order; /* what begins (its number) and ends (the number's complement), in turn */
    struct xs_trace_ids open; /* by address: the life that is under way there */
    double now;
};

static void add_order(struct column *order, size_t life, bool ends)
{
    uint32_t number = ends ? ~(uint32_t)life : (uint32_t)life;
    add(order, &number, sizeof(number));
}

static void begin_life(struct lives *l, double from, uint64_t va, uint64_t bytes, uint32_t tag,
                       uint64_t stream, uint32_t stack)
{
    struct xs_trace_id *open = xs_trace_ids_at(&l->open, va >> 1);
    if (!open) {
        l->column[0].failed = true;
        return;
    }
    open->slot = (uint32_t)l->column[LIFE_FROM].n;
    add_real(&l->column[LIFE_FROM], from);
    add_real(&l->column[LIFE_TO], -1);
    add_real(&l->column[LIFE_BYTES], (double)bytes);
    add_real(&l->column[LIFE_VA], (double)va);
    add_count(&l->column[LIFE_TAG], tag);
    add_real(&l->column[LIFE_STREAM], (double)stream);
    add_count(&l->column[LIFE_STACK], stack);
}

/* A free of what was allocated before the first event begins with that. */
static void end_life(struct lives *l, double to, const struct xs_event *e)
{
    struct xs_trace_id *open = xs_trace_ids_at(&l->open, e->va >> 1);
    if (open && open->slot >= XS_TRACE_SLOTS_MAX) {
        add_order(&l->old, l->column[LIFE_FROM].n, false);
        begin_life(l, 0, e->va, e->bytes, 0, e->stream, 0);
        open = xs_trace_ids_at(&l->open, e->va >> 1);
    }
    if (!open || open->slot >= l->column[LIFE_TO].n) {
        l->column[0].failed = true;
        return;
    }
    ((double *)l->column[LIFE_TO].array.base)[open->slot] = to;
    add_order(&l->order, open->slot, true);
    open->slot = XS_TRACE_ID_FREED;
}

static double when(const struct xs_snapshot *s, uint64_t time_ns)
{
    uint64_t first = s->n_events ? s->events[0].time_ns : s->time_ns;
    return (double)(time_ns - xs_min(time_ns, first)) / 1000;
}

/* What is live and in no event was there before the first. */
static void add_old(struct lives *l, const struct xs_snapshot *s)
{
    for (size_t i = 0; i < s->n_blocks; i++) {
        const struct xs_snap_block *b = &s->blocks[i];
        const struct xs_trace_id *open =
            b->state == XS_SNAP_LIVE ? xs_trace_ids_at(&l->open, b->va >> 1) : NULL;
        if (open && open->slot >= XS_TRACE_SLOTS_MAX) {
            add_order(&l->old, l->column[LIFE_FROM].n, false);
            begin_life(l, 0, b->va, b->requested, b->tag, b->stream, b->stack);
        }
    }
}

static bool print_lives(struct xs_json *j, const struct xs_snapshot *s, bool is_trace)
{
    struct lives l = {.now = when(s, s->time_ns)};
    for (size_t i = 0; i < s->n_events; i++) {
        const struct xs_event *e = &s->events[i];
        double t = when(s, e->time_ns);
        if (e->kind == XS_EVENT_ALLOC) {
            add_order(&l.order, l.column[LIFE_FROM].n, false);
            begin_life(&l, t, e->va, e->bytes, e->tag, e->stream, e->stack);
        } else if (e->kind == XS_EVENT_FREE || e->kind == XS_EVENT_FREE_COMPLETED)
            end_life(&l, t, e);
    }
    if (!is_trace)
        add_old(&l, s);
    xs_json_open(j, "lives", '{');
    xs_json_count(j, "count", l.column[0].n);
    print_columns(j, life_names, l.column, LIFE_COLUMNS, life_bytes);
    column(j, "old", &l.old.array, l.old.n * 4);
    column(j, "order", &l.order.array, l.order.n * 4);
    xs_json_close(j, '}');
    xs_trace_ids_drop(&l.open);
    bool ok = drop_columns(&l.old, 1);
    ok &= drop_columns(&l.order, 1);
    return drop_columns(l.column, LIFE_COLUMNS) && ok;
}

/* ---- reserved memory over time ---------------------------------------------------------------- */

static int64_t change(const struct xs_event *e)
{
    bool more = e->kind == XS_EVENT_MAP || e->kind == XS_EVENT_SEGMENT_ALLOC;
    bool less = e->kind == XS_EVENT_UNMAP || e->kind == XS_EVENT_SEGMENT_FREE;
    return more ? (int64_t)e->bytes : less ? -(int64_t)e->bytes : 0;
}

/* From what is mapped now back to what was at the first event. */
static bool print_reserved(struct xs_json *j, const struct xs_snapshot *s, bool is_trace)
{
    enum { TIME, BYTES };
    static const char *const names[] = {"time", "bytes"};
    static const size_t bytes[] = {8, 8};
    struct column c[2] = {{.n = 0}};
    int64_t mapped = 0;
    for (size_t i = 0; i < s->n_segments && !is_trace; i++)
        mapped += (int64_t)s->segments[i].bytes;
    for (size_t i = 0; i < s->n_events; i++)
        mapped -= change(&s->events[i]);
    for (size_t i = 0; i < s->n_events && !is_trace; i++) {
        if (i && !change(&s->events[i]))
            continue;
        mapped += change(&s->events[i]);
        add_real(&c[TIME], when(s, s->events[i].time_ns));
        add_real(&c[BYTES], (double)mapped);
    }
    xs_json_open(j, "reserved", '{');
    print_columns(j, names, c, 2, bytes);
    xs_json_close(j, '}');
    return drop_columns(c, 2);
}

/* ---- the map ---------------------------------------------------------------------------------- */

enum {
    BLOCK_VA,
    BLOCK_BYTES,
    BLOCK_REQUESTED,
    BLOCK_AGE,
    BLOCK_STATE,
    BLOCK_TAG,
    BLOCK_STREAM,
    BLOCK_STACK,
    BLOCK_COLUMNS
};
static const char *const map_names[] = {"va",    "bytes", "requested", "age",
                                        "state", "tag",   "stream",    "stack"};
static const size_t map_bytes[] = {8, 8, 8, 8, 4, 4, 8, 4};

static bool print_map(struct xs_json *j, const struct xs_snapshot *s)
{
    struct column c[BLOCK_COLUMNS] = {{.n = 0}};
    for (size_t i = 0; i < s->n_blocks; i++) {
        const struct xs_snap_block *b = &s->blocks[i];
        add_real(&c[BLOCK_VA], (double)b->va);
        add_real(&c[BLOCK_BYTES], (double)b->bytes);
        add_real(&c[BLOCK_REQUESTED], (double)b->requested);
        add_real(&c[BLOCK_AGE],
                 b->age_ms == UINT64_MAX || b->state > XS_SNAP_WAITING ? -1 : (double)b->age_ms);
        add_count(&c[BLOCK_STATE], b->state);
        add_count(&c[BLOCK_TAG], b->tag);
        add_real(&c[BLOCK_STREAM], (double)b->stream);
        add_count(&c[BLOCK_STACK], b->stack);
    }
    xs_json_open(j, "blocks", '{');
    xs_json_count(j, "count", s->n_blocks);
    print_columns(j, map_names, c, BLOCK_COLUMNS, map_bytes);
    xs_json_close(j, '}');
    return drop_columns(c, BLOCK_COLUMNS);
}

static bool print_ranges(struct xs_json *j, const struct xs_snapshot *s)
{
    static const char *const names[] = {"va", "bytes"};
    static const size_t bytes[] = {8, 8};
    struct column segments[2] = {{.n = 0}}, extents[2] = {{.n = 0}};
    for (size_t i = 0; i < s->n_segments; i++) {
        add_real(&segments[0], (double)s->segments[i].va);
        add_real(&segments[1], (double)s->segments[i].bytes);
    }
    for (size_t i = 0; i < s->n_extents; i++) {
        add_real(&extents[0], (double)s->extents[i].va);
        add_real(&extents[1], (double)s->extents[i].bytes);
    }
    xs_json_open(j, "segments", '{');
    print_columns(j, names, segments, 2, bytes);
    xs_json_close(j, '}');
    xs_json_open(j, "extents", '{');
    print_columns(j, names, extents, 2, bytes);
    xs_json_close(j, '}');
    bool ok = drop_columns(segments, 2);
    return drop_columns(extents, 2) && ok;
}

/* ---- texts ------------------------------------------------------------------------------------ */

static void print_names(struct xs_json *j, const struct xs_snapshot *s)
{
    xs_json_open(j, "names", '[');
    for (uint32_t i = 0; i < s->names.count; i++)
        xs_json_text(j, NULL, xs_snapshot_name(s, i));
    xs_json_close(j, ']');
    xs_json_open(j, "stacks", '[');
    for (size_t i = 0; i < s->n_stacks; i++) {
        xs_json_open(j, NULL, '[');
        for (uint32_t k = 0; k < s->stacks[i].n_frames; k++) {
            const struct xs_snap_frame *f = &s->frames[s->stacks[i].first_frame + k];
            xs_json_count(j, NULL, f->function);
            xs_json_count(j, NULL, f->file);
            xs_json_count(j, NULL, f->line);
        }
        xs_json_close(j, ']');
    }
    xs_json_close(j, ']');
}

static void print_diagnosis(struct xs_json *j, const struct xs_snapshot *s)
{
    static char text[16384];
    struct xs_out_string string = {text, sizeof(text), 0};
    struct xs_diagnosis d;
    struct xs_out out;
    xs_diagnose(&d, s, NULL);
    xs_out_begin(&out, xs_out_to_text, &string);
    xs_diagnosis_print_text(&out, &d, 0);
    xs_out_end(&out);
    xs_json_text(j, "diagnosis", text);
}

bool report_data_print(struct xs_json *j, const struct xs_snapshot *s)
{
    bool is_trace = s->n_events && !s->time_us;
    xs_json_open(j, NULL, '{');
    xs_json_signed(j, "device", s->device);
    xs_json_bool(j, "is_trace", is_trace);
    xs_json_count(j, "time_us", s->time_us);
    xs_json_count(j, "events", s->n_events);
    xs_json_real(j, "now", when(s, s->time_ns), 3);
    print_diagnosis(j, s);
    print_names(j, s);
    bool ok = print_lives(j, s, is_trace);
    ok &= print_reserved(j, s, is_trace);
    ok &= print_map(j, s);
    ok &= print_ranges(j, s);
    xs_json_close(j, '}');
    return ok;
}
