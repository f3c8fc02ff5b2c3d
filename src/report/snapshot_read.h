/* Snapshots from a file: ours, or one that PyTorch's _dump_snapshot() or pickle wrote of _snapshot(). */
#ifndef XS_REPORT_SNAPSHOT_READ_H
#define XS_REPORT_SNAPSHOT_READ_H

#include "report/snapshot.h"
#include "report/trace_file.h"

/* The snapshots of one file, by device. */
struct xs_snapshots {
    struct xs_array memory;
    size_t count;
};

static inline struct xs_snapshot *xs_snapshots_at(const struct xs_snapshots *set, size_t i)
{
    return (struct xs_snapshot *)set->memory.base + i;
}

/* One more, empty, of a device; what is not known of it says so. NULL: no memory. The others may move. */
struct xs_snapshot *xs_snapshots_add(struct xs_snapshots *set, int device);

/* Errors: IO (not a snapshot), HOST_MEMORY; the set is empty then. */
enum xseg_result xs_snapshots_read(struct xs_snapshots *set, const char *name, const void *data,
                                   size_t bytes);
/* A trace as a snapshot of the moment at which most was live; an event counts as a millisecond. */
enum xseg_result xs_snapshots_of_trace(struct xs_snapshots *set, const struct xs_trace *trace);
void xs_snapshots_drop(struct xs_snapshots *set);

#endif
