/* Snapshots as a file: the dictionary that torch.cuda._memory_viz and pytorch.org/memory_viz read, as a pickle, or the
 * same as JSON. What they do not know is under keys that they leave alone. */
#ifndef XS_REPORT_SNAPSHOT_WRITE_H
#define XS_REPORT_SNAPSHOT_WRITE_H

#include "report/document.h"
#include "report/snapshot.h"

/* One of each device, in any order. False: could not be written. */
bool xs_snapshot_write(xs_out_write write, void *ctx, bool is_pickle, const struct xs_snapshot *s,
                       size_t n);

/* PyTorch's word for a block's state, and for an event. */
const char *xs_snapshot_state_word(enum xs_snap_state state);
const char *xs_snapshot_event_word(enum xs_event_kind kind);

#endif
