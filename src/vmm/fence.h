/*
 * Fences: "everything that this stream, or this whole context, had been given by then is done".
 *
 * Time on a device is one counter, the epoch. A freed block is stamped with the stream and the epoch of
 * its free; that costs no driver call. Recording a fence closes the epoch: the event is recorded after
 * the counter moved on, so it covers all work queued before any free stamped up to then. An event that
 * is recorded later covers more, never less, which is why one fence can serve many frees.
 *
 *     free   free    fence      free    fence
 *      |7     |7      |closes 7   |8     |closes 8        epoch ->
 *
 * A stream's fence is recorded on the handle that the caller has just passed, as any other may be dead.
 * A context's fence (cuCtxRecordEvent) covers every stream, destroyed ones too. Neither is recorded
 * while the passed stream captures: it would invalidate the capture.
 *
 * Thread-safe. Recording, polling and waiting take the FENCE lock and need a current context.
 */
#ifndef XS_VMM_FENCE_H
#define XS_VMM_FENCE_H

#include <stdatomic.h>

#include "base/base.h"
#include "base/list.h"
#include "base/lock.h"
#include "base/meta.h"
#include "driver/cuda_abi.h"
#include "vmm/stream.h"

struct xs_fences {
    _Atomic uint64_t epoch;          /* stamp of frees from now on; starts at 1 */
    _Atomic uint64_t context_passed; /* everything stamped up to this is done, on every stream */
    struct xs_lock lock;
    /* Guarded by lock. */
    struct xs_slab slab;
    struct xs_list pending; /* recorded, not known to have passed; in order of recording */
    struct xs_list spare;   /* records that own an unused event */
    size_t pending_count;
    uint64_t context_closed; /* highest epoch that a context fence was recorded for */
};

void xs_fences_init(struct xs_fences *fences);
/* Destroys the events; the context is current, nothing is pending or all work is done. */
void xs_fences_destroy(struct xs_fences *fences);

static inline uint64_t xs_fence_stamp(const struct xs_fences *fences)
{
    return atomic_load_explicit(&fences->epoch, memory_order_relaxed);
}

/* Whether work queued before a free with this stamp is known to be done. Stamp 0 always is. */
static inline bool xs_fence_passed(const struct xs_fences *fences, const struct xs_stream *stream,
                                   uint64_t stamp)
{
    return stamp <= atomic_load_explicit(&fences->context_passed, memory_order_acquire) ||
           (stream && stamp <= atomic_load_explicit(&stream->passed, memory_order_acquire));
}

/*
 * Closes the epoch: for `stream` alone, where handle is alive and not capturing, or for all streams
 * (`stream` NULL). For one stream it does nothing where a fence for that epoch is pending already or
 * everything passed; frees into a cache are not known here, so the context's epoch is always closed.
 * Errors: HOST_MEMORY, DRIVER, NOT_SUPPORTED (no context-wide events in this driver).
 */
enum xseg_result xs_fence_record(struct xs_fences *fences, struct xs_stream *stream,
                                 xs_cu_stream handle);

/* Looks at the pending fences, oldest first, without waiting. *progress: whether any has passed. */
enum xseg_result xs_fence_poll(struct xs_fences *fences, bool *progress);

/*
 * Makes `handle` wait, on the GPU, for the newest pending fence of the whole context. *epoch: everything
 * stamped up to it comes before the stream's further work; 0: there is no such fence.
 */
enum xseg_result xs_fence_wait_on_stream(struct xs_fences *fences, xs_cu_stream handle,
                                         uint64_t *epoch);

/* Waits for the oldest pending fence, or with `of_context` for the oldest of the whole context if there is one,
 * which covers all recorded before it. *waited false: there was none. */
enum xseg_result xs_fence_wait_oldest(struct xs_fences *fences, bool of_context, bool *waited);

#endif
