#include "sim/sim_event.h"

#include "sim/sim_capture.h"
#include "sim/sim_state.h"
#include "sim/sim_stream.h"

static xs_cu_result event_of(xs_cu_event handle, struct xs_sim_event **out)
{
    *out = xs_sim_slots_check(&xs_sim.events, handle);
    if (*out)
        return XS_CUDA_SUCCESS;
    return xs_sim_misuse(XS_CUDA_ERROR_INVALID_HANDLE, "%p is not a live event", (void *)handle);
}

/* The event now stands for `mark` (taken over), or for a point in a capture. */
static void set_point(struct xs_sim_event *event, struct xs_sim_mark *mark,
                      unsigned long long captured)
{
    xs_sim_mark_drop(event->mark);
    event->mark = mark;
    event->asked = 0;
    event->captured = captured;
}

static void drop(struct xs_sim_event *event)
{
    set_point(event, NULL, 0);
    xs_sim_slots_give(&xs_sim.events, event);
}

void xs_sim_event_drop_all(const struct xs_sim_context *ctx)
{
    XS_SIM_SLOTS_FOR_EACH(struct xs_sim_event, event, &xs_sim.events)
    if (event->ctx == ctx)
        drop(event);
}

xs_cu_result xs_sim_do_cuEventCreate(xs_cu_event *event, unsigned flags)
{
    (void)flags;
    if (!event)
        return xs_sim_misuse(XS_CUDA_ERROR_INVALID_VALUE, "NULL argument");
    struct xs_sim_event *made = xs_sim_slots_take(&xs_sim.events);
    if (!made)
        return XS_CUDA_ERROR_OUT_OF_MEMORY;
    made->ctx = xs_sim_context_current();
    *event = (xs_cu_event)made;
    return XS_CUDA_SUCCESS;
}

xs_cu_result xs_sim_do_cuEventDestroy_v2(xs_cu_event handle)
{
    struct xs_sim_event *event;
    const xs_cu_result result = event_of(handle, &event);
    if (result == XS_CUDA_SUCCESS)
        drop(event);
    return result;
}

static xs_cu_result record_in_capture(struct xs_sim_event *event, const struct xs_sim_queue *queue)
{
    if (queue->capture->invalid)
        return XS_CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    set_point(event, NULL, queue->capture->id);
    return XS_CUDA_SUCCESS;
}

xs_cu_result xs_sim_do_cuEventRecord(xs_cu_event handle, xs_cu_stream stream)
{
    struct xs_sim_event *event;
    struct xs_sim_queue *queue;
    xs_cu_result result = event_of(handle, &event);
    if (result == XS_CUDA_SUCCESS)
        result = xs_sim_stream_queue(stream, &queue);
    if (result != XS_CUDA_SUCCESS)
        return result;
    if (queue->ctx != event->ctx)
        return xs_sim_misuse(XS_CUDA_ERROR_INVALID_HANDLE, "event and stream differ in context");
    if (queue->capture)
        return record_in_capture(event, queue);
    result = xs_sim_capture_forbids_legacy(queue, true);
    if (result != XS_CUDA_SUCCESS)
        return result;
    set_point(event, xs_sim_mark_new(), 0);
    xs_sim_stream_order(queue);
    xs_sim_queue_push_mark(queue, event->mark);
    xs_sim_queue_pump();
    return XS_CUDA_SUCCESS;
}

xs_cu_result xs_sim_do_cuCtxRecordEvent(xs_cu_context ctx_handle, xs_cu_event handle)
{
    struct xs_sim_event *event;
    struct xs_sim_context *ctx = xs_sim_context_of(ctx_handle);
    if (!ctx)
        return xs_sim_misuse(XS_CUDA_ERROR_INVALID_CONTEXT, "not a live context");
    xs_cu_result result = event_of(handle, &event);
    if (result != XS_CUDA_SUCCESS)
        return result;
    if (event->ctx != ctx)
        return xs_sim_misuse(XS_CUDA_ERROR_INVALID_HANDLE, "the event is of another context");
    result = xs_sim_capture_forbids_in(ctx);
    if (result != XS_CUDA_SUCCESS)
        return result;
    set_point(event, xs_sim_mark_new(), 0);
    const size_t busy = xs_sim_queue_mark_all(ctx, event->mark);
    xs_sim_ledger_charge(XS_SIM_SYM_cuCtxRecordEvent, busy);
    xs_sim_queue_pump();
    return XS_CUDA_SUCCESS;
}

/* What cuEventQuery and cuEventSynchronize have in common. */
static xs_cu_result check_asking(xs_cu_event handle, struct xs_sim_event **out)
{
    const xs_cu_result result = event_of(handle, out);
    if (result != XS_CUDA_SUCCESS)
        return result;
    struct xs_sim_capture *capture = xs_sim_capture_by_id((*out)->captured);
    if (capture)
        return xs_sim_capture_break(capture, XS_CUDA_ERROR_CAPTURED_EVENT,
                                    "an event recorded in a capture is asked");
    if ((*out)->captured)
        return xs_sim_misuse(XS_CUDA_ERROR_CAPTURED_EVENT, "the event was recorded in a capture");
    return xs_sim_capture_forbids();
}

xs_cu_result xs_sim_do_cuEventQuery(xs_cu_event handle)
{
    struct xs_sim_event *event;
    const xs_cu_result result = check_asking(handle, &event);
    if (result != XS_CUDA_SUCCESS)
        return result;
    if (!event->mark || !event->mark->remaining)
        return XS_CUDA_SUCCESS;
    if (event->asked++ < xs_sim.reach_after || !xs_sim.reach_after)
        return XS_CUDA_ERROR_NOT_READY;
    xs_sim_queue_reach(event->mark);
    return XS_CUDA_SUCCESS;
}

xs_cu_result xs_sim_do_cuEventSynchronize(xs_cu_event handle)
{
    struct xs_sim_event *event;
    const xs_cu_result result = check_asking(handle, &event);
    if (result == XS_CUDA_SUCCESS && event->mark)
        xs_sim_queue_reach(event->mark);
    return result;
}

/*
 * A wait in a capture, or on a captured event: the stream joins the capture, or the capture breaks.
 */
static xs_cu_result wait_in_capture(struct xs_sim_queue *queue, const struct xs_sim_event *event)
{
    struct xs_sim_capture *capture = xs_sim_capture_by_id(event->captured);
    if (queue->capture && queue->capture->invalid)
        return XS_CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    if (queue->capture && queue->capture != capture)
        return xs_sim_capture_break(queue->capture, XS_CUDA_ERROR_STREAM_CAPTURE_ISOLATION,
                                    "a capture waits for work outside it");
    if (!capture)
        return xs_sim_misuse(XS_CUDA_ERROR_CAPTURED_EVENT, "the capture of the event is over");
    if (queue->legacy)
        return xs_sim_capture_break(capture, XS_CUDA_ERROR_STREAM_CAPTURE_IMPLICIT,
                                    "the legacy stream cannot join a capture");
    queue->capture = capture;
    return XS_CUDA_SUCCESS;
}

xs_cu_result xs_sim_do_cuStreamWaitEvent(xs_cu_stream stream, xs_cu_event handle, unsigned flags)
{
    struct xs_sim_event *event;
    struct xs_sim_queue *queue;
    xs_cu_result result = event_of(handle, &event);
    if (result == XS_CUDA_SUCCESS)
        result = xs_sim_stream_queue(stream, &queue);
    if (result == XS_CUDA_SUCCESS && flags)
        result = xs_sim_misuse(XS_CUDA_ERROR_INVALID_VALUE, "flags must be 0");
    if (result != XS_CUDA_SUCCESS || (!event->captured && !event->mark))
        return result;
    if (event->captured || queue->capture)
        return wait_in_capture(queue, event);
    result = xs_sim_capture_forbids_legacy(queue, true);
    if (result != XS_CUDA_SUCCESS)
        return result;
    xs_sim_stream_order(queue);
    xs_sim_queue_push_wait(queue, event->mark);
    xs_sim_queue_pump();
    return XS_CUDA_SUCCESS;
}
