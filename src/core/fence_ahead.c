#include "core/fence_ahead.h"

#include "core/captures.h"

/* A fence for each 16th of what is reserved, until four times as much has come back since a request found nothing free. So
 * there are at most 64 for each such request, and none in a steady state. */
#define SHARE 16
#define TIMES 4

void xs_fence_ahead_begin(struct xs_device *dev)
{
    xs_assert_held(&dev->lock);
    dev->short_at = dev->fenced_at = dev->came_back;
}

bool xs_fence_ahead_is_due(struct xs_device *dev)
{
    xs_assert_held(&dev->lock);
    uint64_t reserved = dev->stats.now.reserved_bytes.current;
    if (dev->came_back - dev->fenced_at < reserved / SHARE ||
        dev->came_back - dev->short_at > reserved * TIMES || !xs_alloc_is_expandable(dev))
        return false;
    dev->fenced_at = dev->came_back;
    return true;
}

void xs_fence_ahead_record(const struct xs_request *request, struct xs_stream *stream)
{
    struct xs_device *dev = request->dev;
    struct xs_context_scope scope;
    if (xs_stream_is_none(request->handle) || xs_context_enter(&dev->context, &scope))
        return;
    if (!xs_captures_has(request->handle))
        xs_fence_try_record(&dev->fences, stream, request->handle);
    xs_context_leave(&scope);
}
