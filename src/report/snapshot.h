/*
 * A snapshot: all that is known of one device's memory at one moment, as plain data: segments of blocks in address
 * order, extents, and the latest events. Taken of a running device (snapshot_take.h), read from a file
 * (snapshot_read.h) or from a trace; written, diagnosed and drawn from here. Not thread-safe.
 */
#ifndef XS_REPORT_SNAPSHOT_H
#define XS_REPORT_SNAPSHOT_H

#include "report/names.h"
#include "stats/history.h"

enum xs_snap_state { XS_SNAP_LIVE, XS_SNAP_WAITING, XS_SNAP_CACHED, XS_SNAP_FREE };

struct xs_snap_block {
    uint64_t va;
    uint64_t bytes;
    uint64_t requested; /* LIVE and WAITING */
    uint64_t stream;
    uint64_t age_ms; /* LIVE and WAITING: since it was allocated, at most; UINT64_MAX: not known */
    uint32_t tag;    /* a name; 0: none */
    uint32_t stack;  /* of its allocation, where that is in the history; 0: not known */
    uint8_t state;   /* enum xs_snap_state */
    bool passed;     /* FREE: usable on every stream */
};

/* Memory that is mapped without a gap. */
struct xs_snap_segment {
    uint64_t va;
    uint64_t bytes;
    size_t first_block;
    size_t n_blocks;
    uint64_t pool; /* 0: the default one */
    bool is_held;  /* by a private pool: what is free in it serves nobody else */
    bool is_expandable;
};

struct xs_snap_extent {
    uint64_t va; /* 0: mapped nowhere */
    uint64_t bytes;
};

struct xs_snap_frame {
    uint32_t function; /* names */
    uint32_t file;
    uint32_t line;
};

struct xs_snap_stack {
    uint32_t first_frame;
    uint32_t n_frames;
};

struct xs_snapshot {
    int device;
    uint64_t time_us;        /* since 1970 */
    uint64_t time_ns;        /* the same moment in the clock of the events */
    bool is_ours;            /* xseg wrote it: stats and extents are known */
    bool complete;           /* the events begin with the device's first */
    struct xseg_stats stats; /* what another allocator's snapshot does not say is 0 or UINT64_MAX */
    char settings[2048];     /* as ALLOC_CONF says them */

    struct xs_snap_segment *segments;
    struct xs_snap_block *blocks;
    struct xs_snap_extent *extents;
    struct xs_event *events; /* oldest first; tag is a name, stack one of `stacks` */
    struct xs_snap_stack *stacks;
    struct xs_snap_frame *frames;
    size_t n_segments, n_blocks, n_extents, n_events, n_stacks, n_frames;
    struct xs_names names;
    struct xs_array arrays[6]; /* of the pointers above, in their order */
};

/* Each adds one, and returns it, zeroed; NULL: no memory. What was returned before may move. */
struct xs_snap_segment *xs_snapshot_add_segment(struct xs_snapshot *s);
struct xs_snap_block *xs_snapshot_add_block(struct xs_snapshot *s);
struct xs_snap_extent *xs_snapshot_add_extent(struct xs_snapshot *s);
struct xs_event *xs_snapshot_add_event(struct xs_snapshot *s);
/* A stack without frames yet; further frames belong to it. */
struct xs_snap_stack *xs_snapshot_add_stack(struct xs_snapshot *s);
struct xs_snap_frame *xs_snapshot_add_frame(struct xs_snapshot *s);
/* Room for so many more blocks, so that adding them does not fail. */
bool xs_snapshot_reserve(struct xs_snapshot *s, size_t segments, size_t blocks, size_t extents);

/* Brings segments and blocks into the order of their addresses. */
void xs_snapshot_sort(struct xs_snapshot *s);
/* LIVE and WAITING blocks get the stacks of their allocations from the events. */
void xs_snapshot_find_stacks(struct xs_snapshot *s);
/* The block that begins there; NULL: none. They are in order. */
struct xs_snap_block *xs_snapshot_block_at(struct xs_snapshot *s, uint64_t va);
void xs_snapshot_drop(struct xs_snapshot *s);

static inline const char *xs_snapshot_name(const struct xs_snapshot *s, uint32_t name)
{
    return xs_names_text(&s->names, name);
}

#endif
