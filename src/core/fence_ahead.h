/*
 * Fences recorded before they are needed. A free makes no driver call, so that the fence of what it freed would be recorded
 * by the growth that wants to move it, and stand behind all the work queued meanwhile, however long ago the free was. While
 * memory is short, a fence is recorded each time some memory has come back: then what was freed a while ago is known
 * to be idle when it is wanted, and to wait for the oldest fence is to wait for little.
 */
#ifndef XS_CORE_FENCE_AHEAD_H
#define XS_CORE_FENCE_AHEAD_H

#include "core/alloc.h"

/* A request has found nothing free: fences are worth their cost for a while. Under HEAP. */
void xs_fence_ahead_begin(struct xs_device *dev);

/* Whether it is time for one; then it is the caller's to record. Under HEAP. */
bool xs_fence_ahead_is_due(struct xs_device *dev);

/* On the stream of the request, which has been served with a block of `stream`, unless it captures. What fails is
 * left to whoever needs the fence. Under no lock. */
void xs_fence_ahead_record(const struct xs_request *request, struct xs_stream *stream);

#endif
