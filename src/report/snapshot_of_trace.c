/* A trace as a snapshot: what was live at its peak, side by side, and all its events. */
#include <string.h>

#include "base/error.h"
#include "report/snapshot_read.h"

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
    struct xs_snapshot *s = xs_snapshots_add(set, 0);
    size_t peak = find_peak(trace);
    if (!s || !add_events(s, trace) || !add_live(s, trace, peak)) {
        xs_snapshots_drop(set);
        return xs_fail(XSEG_ERROR_HOST_MEMORY, "no memory for the trace's snapshot");
    }
    s->complete = true;
    s->time_ns = peak * 1000000;
    return XSEG_OK;
}
