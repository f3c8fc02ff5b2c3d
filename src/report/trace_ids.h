/*
 * What a trace has said of each id so far: never, live in a slot, or freed. A hash with open
 * addressing; entries are never removed, so that a double free can be told from an unknown id.
 * Not thread-safe.
 */
#ifndef XS_REPORT_TRACE_IDS_H
#define XS_REPORT_TRACE_IDS_H

#include "report/array.h"

/* Values of `slot` that are no slot. */
#define XS_TRACE_ID_NEVER  UINT32_MAX
#define XS_TRACE_ID_FREED  (UINT32_MAX - 1)
#define XS_TRACE_SLOTS_MAX (UINT32_MAX - 2)

struct xs_trace_id {
    uint64_t key; /* id + 1; 0: the place is empty */
    uint32_t slot;
    uint32_t line; /* where it was last allocated or freed, for messages */
};

struct xs_trace_ids {
    struct xs_array table;
    size_t count;
    unsigned bits; /* of the table's length; 0: no table yet */
};

/* The entry of `id` (below 2^63), made with slot XS_TRACE_ID_NEVER if there was none. Valid until the
 * next call. NULL: no memory. */
struct xs_trace_id *xs_trace_ids_at(struct xs_trace_ids *ids, uint64_t id);
void xs_trace_ids_drop(struct xs_trace_ids *ids);

#endif
