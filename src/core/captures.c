#include "core/captures.h"

#include <sched.h>

#include "base/error.h"
#include "driver/driver.h"

bool xs_captures_has(xs_cu_stream handle)
{
    int status = XS_CU_CAPTURE_STATUS_NONE;
    /* Of the legacy stream: an error while a blocking stream captures, which stays valid. */
    return xs_cu_stream_is_capturing(handle, &status) || status != XS_CU_CAPTURE_STATUS_NONE;
}

/* Handles that the caller vouches for. Returns how many. */
static size_t trusted_handles(struct xs_device *dev, xs_cu_stream handles[XS_STREAM_INDEX_LIMIT])
{
    size_t n = 0;
    xs_lock_acquire(&dev->lock);
    for (unsigned i = 0; i < XS_STREAM_BUCKETS; i++)
        for (const struct xs_stream *s = dev->streams.bucket[i]; s; s = s->next)
            if (s->trusted)
                handles[n++] = s->key.handle;
    xs_lock_release(&dev->lock);
    return n;
}

/* What is vouched for is asked; of others, what was seen when they were last passed. */
bool xs_captures_maybe(struct xs_device *dev)
{
    xs_cu_stream handles[XS_STREAM_INDEX_LIMIT];
    if (atomic_load(&dev->captures) > 0 || xs_captures_has(NULL))
        return true;
    xs_lock_acquire(&dev->lock);
    bool seen = dev->streams.capturing > 0;
    xs_lock_release(&dev->lock);
    size_t n = trusted_handles(dev, handles);
    for (size_t i = 0; i < n && !seen; i++)
        seen = xs_captures_has(handles[i]);
    return seen;
}

void xs_captures_begin(struct xs_device *dev)
{
    atomic_fetch_add(&dev->captures, 1);
    while (atomic_load(&dev->recording))
        sched_yield(); /* some microseconds */
}

enum xseg_result xs_captures_end(struct xs_device *dev)
{
    int open = atomic_load(&dev->captures);
    while (open > 0 && !atomic_compare_exchange_weak(&dev->captures, &open, open - 1))
        continue;
    if (!open)
        return xs_fail(XSEG_ERROR_INVALID_VALUE, "xseg_capture: no capture has begun");
    if (open > 1)
        return XSEG_OK;
    xs_lock_acquire(&dev->lock);
    xs_streams_forget_captures(&dev->streams);
    xs_lock_release(&dev->lock);
    return XSEG_OK;
}
