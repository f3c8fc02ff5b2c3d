#include "sim/sim_stream.h"

#include <stdio.h>
#include <stdlib.h>

#include "sim/sim_capture.h"
#include "sim/sim_context.h"
#include "sim/sim_control.h"
#include "sim/sim_state.h"

static xs_cu_result null_argument(void)
{
    return xs_sim_misuse(XS_CUDA_ERROR_INVALID_VALUE, "NULL argument");
}

static xs_cu_result dead_stream(xs_cu_stream stream)
{
    if (xs_sim.config.strict) {
        fprintf(stderr, "xseg-sim: %s: %p is not a live stream\n", xs_sim_self()->call,
                (void *)stream);
        abort();
    }
    return xs_sim_misuse(XS_CUDA_ERROR_INVALID_HANDLE, "%p is not a live stream", (void *)stream);
}

/* `thread` is 0 for the legacy stream. */
static xs_cu_result default_queue(unsigned long long thread, struct xs_sim_queue **out)
{
    const xs_cu_result result = xs_sim_context_require();
    if (result != XS_CUDA_SUCCESS)
        return result;
    struct xs_sim_context *ctx = xs_sim_context_current();
    XS_SIM_FOR_EACH_QUEUE(queue)
    {
        if (queue->ctx == ctx && queue->thread == thread && queue->legacy == (thread == 0)) {
            *out = queue;
            return XS_CUDA_SUCCESS;
        }
    }
    *out = xs_sim_queue_new(ctx);
    if (!*out)
        return XS_CUDA_ERROR_OUT_OF_MEMORY;
    (*out)->thread = thread;
    (*out)->legacy = thread == 0;
    (*out)->blocking = true;
    return XS_CUDA_SUCCESS;
}

xs_cu_result xs_sim_stream_queue(xs_cu_stream stream, struct xs_sim_queue **out)
{
    if (!stream || stream == XS_CU_STREAM_LEGACY)
        return default_queue(0, out);
    if (stream == XS_CU_STREAM_PER_THREAD)
        return default_queue(xs_sim_self()->id, out);
    const struct xs_sim_stream *found = xs_sim_slots_check(&xs_sim.streams, stream);
    if (!found)
        return dead_stream(stream);
    *out = found->queue;
    return XS_CUDA_SUCCESS;
}

/*
 * The implicit order between the legacy stream and blocking streams, as an event in one and a wait
 * in the other. Only the pending work of the other side matters.
 */
void xs_sim_stream_order(struct xs_sim_queue *queue)
{
    if (!queue->blocking)
        return;
    struct xs_sim_mark *mark = xs_sim_mark_new();
    XS_SIM_FOR_EACH_QUEUE(other)
    {
        if (other->ctx == queue->ctx && other->blocking && other->legacy != queue->legacy &&
            xs_sim_queue_is_busy(other))
            xs_sim_queue_push_mark(other, mark);
    }
    xs_sim_queue_push_wait(queue, mark);
    xs_sim_mark_drop(mark);
}

xs_cu_result xs_sim_stream_submit(struct xs_sim_queue *queue, struct xs_sim_item *item)
{
    if (queue->capture)
        return xs_sim_capture_record(queue->capture, item);
    const xs_cu_result result = xs_sim_capture_forbids_legacy(queue, true);
    if (result != XS_CUDA_SUCCESS) {
        xs_sim_item_free(item);
        return result;
    }
    xs_sim_stream_order(queue);
    xs_sim_queue_push(queue, item);
    xs_sim_queue_pump();
    return XS_CUDA_SUCCESS;
}

xs_cu_result xs_sim_do_cuStreamCreate(xs_cu_stream *stream, unsigned flags)
{
    if (!stream)
        return null_argument();
    if (flags & ~(unsigned)XS_CU_STREAM_NON_BLOCKING)
        return xs_sim_misuse(XS_CUDA_ERROR_INVALID_VALUE, "unknown flags");
    struct xs_sim_queue *queue = xs_sim_queue_new(xs_sim_context_current());
    struct xs_sim_stream *made = queue ? xs_sim_slots_take(&xs_sim.streams) : NULL;
    if (!made) {
        if (queue)
            xs_sim_queue_orphan(queue);
        return XS_CUDA_ERROR_OUT_OF_MEMORY;
    }
    queue->blocking = !(flags & XS_CU_STREAM_NON_BLOCKING);
    made->queue = queue;
    *stream = (xs_cu_stream)made;
    return XS_CUDA_SUCCESS;
}

xs_cu_result xs_sim_do_cuStreamCreateWithPriority(xs_cu_stream *stream, unsigned flags,
                                                  int priority)
{
    (void)priority;
    return xs_sim_do_cuStreamCreate(stream, flags);
}

static void drop(struct xs_sim_stream *stream)
{
    xs_sim_slots_give(&xs_sim.streams, stream);
    xs_sim_queue_orphan(stream->queue);
}

/* Does not wait: work that is queued runs to its end without the stream. */
xs_cu_result xs_sim_do_cuStreamDestroy_v2(xs_cu_stream stream)
{
    struct xs_sim_stream *found = xs_sim_slots_check(&xs_sim.streams, stream);
    if (!found)
        return dead_stream(stream);
    if (found->queue->capture)
        xs_sim_capture_leave(found->queue);
    drop(found);
    return XS_CUDA_SUCCESS;
}

void xs_sim_stream_drop_all(const struct xs_sim_context *ctx)
{
    XS_SIM_SLOTS_FOR_EACH(struct xs_sim_stream, stream, &xs_sim.streams)
    if (stream->queue->ctx == ctx)
        drop(stream);
    for (struct xs_list *node = xs_sim.queues.next, *next = node->next; node != &xs_sim.queues;
         node = next, next = node->next) {
        struct xs_sim_queue *queue = (struct xs_sim_queue *)node;
        if (queue->ctx == ctx)
            xs_sim_queue_orphan(queue);
    }
}

/* What a capturing stream must not be asked, in any mode. */
static xs_cu_result check_not_capturing(xs_cu_stream stream, struct xs_sim_queue **out)
{
    xs_cu_result result = xs_sim_stream_queue(stream, out);
    if (result == XS_CUDA_SUCCESS && (*out)->capture)
        return xs_sim_capture_break((*out)->capture, XS_CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
                                    "called on a capturing stream");
    return result;
}

/* What cuStreamQuery and cuStreamSynchronize have in common. */
static xs_cu_result check_asking(xs_cu_stream stream, struct xs_sim_queue **out)
{
    xs_cu_result result = check_not_capturing(stream, out);
    if (result == XS_CUDA_SUCCESS)
        result = xs_sim_capture_forbids_legacy(*out, true);
    return result == XS_CUDA_SUCCESS ? xs_sim_capture_forbids() : result;
}

xs_cu_result xs_sim_do_cuStreamQuery(xs_cu_stream stream)
{
    struct xs_sim_queue *queue;
    const xs_cu_result result = check_asking(stream, &queue);
    if (result != XS_CUDA_SUCCESS)
        return result;
    return xs_sim_queue_is_busy(queue) ? XS_CUDA_ERROR_NOT_READY : XS_CUDA_SUCCESS;
}

xs_cu_result xs_sim_do_cuStreamSynchronize(xs_cu_stream stream)
{
    struct xs_sim_queue *queue;
    const xs_cu_result result = check_asking(stream, &queue);
    if (result != XS_CUDA_SUCCESS)
        return result;
    struct xs_sim_mark *mark = xs_sim_mark_new();
    xs_sim_stream_order(queue);
    xs_sim_queue_push_mark(queue, mark);
    xs_sim_queue_reach(mark);
    xs_sim_mark_drop(mark);
    return XS_CUDA_SUCCESS;
}

xs_cu_result xs_sim_do_cuStreamGetId(xs_cu_stream stream, unsigned long long *id)
{
    struct xs_sim_queue *queue;
    const xs_cu_result result = id ? check_not_capturing(stream, &queue) : null_argument();
    if (result == XS_CUDA_SUCCESS)
        *id = queue->id;
    return result;
}

xs_cu_result xs_sim_do_cuStreamGetFlags(xs_cu_stream stream, unsigned *flags)
{
    struct xs_sim_queue *queue;
    const xs_cu_result result = flags ? check_not_capturing(stream, &queue) : null_argument();
    if (result == XS_CUDA_SUCCESS)
        *flags = queue->blocking ? XS_CU_STREAM_DEFAULT : XS_CU_STREAM_NON_BLOCKING;
    return result;
}

xs_cu_result xs_sim_do_cuStreamGetCtx(xs_cu_stream stream, xs_cu_context *ctx)
{
    struct xs_sim_queue *queue;
    const xs_cu_result result = ctx ? xs_sim_stream_queue(stream, &queue) : null_argument();
    if (result == XS_CUDA_SUCCESS)
        *ctx = (xs_cu_context)queue->ctx;
    return result;
}

/* The part of sim_control.h that moves time. */

xs_cu_result xs_sim_stream_manual(xs_cu_stream stream, bool manual)
{
    struct xs_sim_queue *queue;
    xs_sim_control_enter(__func__);
    const xs_cu_result result = xs_sim_stream_queue(stream, &queue);
    if (result == XS_CUDA_SUCCESS) {
        queue->manual = manual;
        xs_sim_queue_pump();
    }
    xs_sim_control_leave();
    return result;
}

size_t xs_sim_stream_advance(xs_cu_stream stream, size_t n)
{
    struct xs_sim_queue *queue;
    xs_sim_control_enter(__func__);
    const xs_cu_result result = xs_sim_stream_queue(stream, &queue);
    const size_t done = result == XS_CUDA_SUCCESS ? xs_sim_queue_advance(queue, n) : 0;
    xs_sim_control_leave();
    return done;
}

void xs_sim_reach_after(unsigned queries)
{
    xs_sim_control_enter(__func__);
    xs_sim.reach_after = queries;
    xs_sim_control_leave();
}

size_t xs_sim_queued(void)
{
    xs_sim_control_enter(__func__);
    const size_t queued = xs_sim.queued_items;
    xs_sim_control_leave();
    return queued;
}

static struct xs_sim_queue *queue_by_id(unsigned long long id)
{
    XS_SIM_FOR_EACH_QUEUE(queue)
    if (queue->id == id)
        return queue;
    return NULL;
}

size_t xs_sim_stream_advance_id(unsigned long long id, size_t n)
{
    xs_sim_control_enter(__func__);
    struct xs_sim_queue *queue = queue_by_id(id);
    const size_t done = queue ? xs_sim_queue_advance(queue, n) : 0;
    xs_sim_control_leave();
    return done;
}
