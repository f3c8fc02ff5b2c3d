#include "sim/sim_capture.h"

#include <stdlib.h>

#include "sim/sim_graph.h"
#include "sim/sim_state.h"
#include "sim/sim_stream.h"

static xs_cu_result null_argument(void)
{
    return xs_sim_misuse(XS_CUDA_ERROR_INVALID_VALUE, "NULL argument");
}

xs_cu_result xs_sim_capture_break(struct xs_sim_capture *capture, xs_cu_result result,
                                  const char *why)
{
    capture->invalid = true;
    return xs_sim_misuse(result, "%s: capture %llu is invalidated", why, capture->id);
}

static bool forbids(const struct xs_sim_capture *capture)
{
    const struct xs_sim_thread *self = xs_sim_self();
    const bool own = capture->thread == self->id;
    if (capture->invalid || self->capture_mode == XS_CU_CAPTURE_MODE_RELAXED)
        return false;
    if (own)
        return capture->mode != XS_CU_CAPTURE_MODE_RELAXED;
    return self->capture_mode == XS_CU_CAPTURE_MODE_GLOBAL &&
           capture->mode == XS_CU_CAPTURE_MODE_GLOBAL;
}

xs_cu_result xs_sim_capture_forbids(void)
{
    xs_cu_result result = XS_CUDA_SUCCESS;
    XS_LIST_FOR_EACH(node, &xs_sim.captures) {
        struct xs_sim_capture *capture = (struct xs_sim_capture *)node;
        if (forbids(capture))
            result = xs_sim_capture_break(capture, XS_CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
                                          "unsafe call during a capture");
    }
    return result;
}

xs_cu_result xs_sim_capture_forbids_in(const struct xs_sim_context *ctx)
{
    xs_cu_result result = XS_CUDA_SUCCESS;
    XS_LIST_FOR_EACH(node, &xs_sim.captures) {
        struct xs_sim_capture *capture = (struct xs_sim_capture *)node;
        if (capture->origin->ctx == ctx)
            result = xs_sim_capture_break(capture, XS_CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
                                          "a stream of the context captures");
    }
    return result;
}

xs_cu_result xs_sim_capture_forbids_legacy(const struct xs_sim_queue *queue, bool invalidate)
{
    if (!queue->legacy)
        return XS_CUDA_SUCCESS;
    XS_SIM_FOR_EACH_QUEUE(other)
    {
        if (!other->capture || other->ctx != queue->ctx || !other->blocking)
            continue;
        if (invalidate)
            return xs_sim_capture_break(other->capture, XS_CUDA_ERROR_STREAM_CAPTURE_IMPLICIT,
                                        "legacy stream used while a blocking stream captures");
        return XS_CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    }
    return XS_CUDA_SUCCESS;
}

xs_cu_result xs_sim_capture_record(struct xs_sim_capture *capture, struct xs_sim_item *item)
{
    if (capture->invalid) {
        xs_sim_item_free(item);
        return XS_CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    }
    xs_sim_graph_add(capture->graph, item);
    return XS_CUDA_SUCCESS;
}

struct xs_sim_capture *xs_sim_capture_by_id(unsigned long long id)
{
    XS_LIST_FOR_EACH(node, &xs_sim.captures)
        if (((struct xs_sim_capture *)node)->id == id)
            return (struct xs_sim_capture *)node;
    return NULL;
}

/* Streams that joined and were not joined back simply leave with the others: not an error here. */
static void end(struct xs_sim_capture *capture)
{
    XS_SIM_FOR_EACH_QUEUE(queue)
    if (queue->capture == capture)
        queue->capture = NULL;
    xs_list_remove(&capture->link);
    free(capture);
}

static void discard(struct xs_sim_capture *capture)
{
    xs_sim_graph_free(capture->graph);
    end(capture);
}

void xs_sim_capture_leave(struct xs_sim_queue *queue)
{
    struct xs_sim_capture *capture = queue->capture;
    xs_sim_capture_break(capture, XS_CUDA_SUCCESS, "a capturing stream is destroyed");
    queue->capture = NULL;
    if (capture->origin == queue)
        discard(capture);
}

void xs_sim_capture_drop_all(const struct xs_sim_context *ctx)
{
    XS_LIST_FOR_EACH_SAFE(node, &xs_sim.captures)
        if (((struct xs_sim_capture *)node)->origin->ctx == ctx)
            discard((struct xs_sim_capture *)node);
}

static struct xs_sim_capture *begin(struct xs_sim_queue *queue, int mode)
{
    struct xs_sim_capture *capture = calloc(1, sizeof(*capture));
    struct xs_sim_graph *graph = capture ? xs_sim_graph_new(false) : NULL;
    if (!graph) {
        free(capture);
        return NULL;
    }
    capture->id = ++xs_sim.next_capture_id;
    capture->mode = mode;
    capture->thread = xs_sim_self()->id;
    capture->origin = queue;
    capture->graph = graph;
    xs_list_push_back(&xs_sim.captures, &capture->link);
    return capture;
}

xs_cu_result xs_sim_do_cuStreamBeginCapture_v2(xs_cu_stream stream, int mode)
{
    struct xs_sim_queue *queue;
    const xs_cu_result result = xs_sim_stream_queue(stream, &queue);
    if (result != XS_CUDA_SUCCESS)
        return result;
    if (mode < XS_CU_CAPTURE_MODE_GLOBAL || mode > XS_CU_CAPTURE_MODE_RELAXED)
        return xs_sim_misuse(XS_CUDA_ERROR_INVALID_VALUE, "unknown capture mode %d", mode);
    if (queue->legacy)
        return xs_sim_misuse(XS_CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
                             "the legacy stream cannot capture");
    if (queue->capture)
        return xs_sim_misuse(XS_CUDA_ERROR_ILLEGAL_STATE, "the stream is capturing already");
    queue->capture = begin(queue, mode);
    return queue->capture ? XS_CUDA_SUCCESS : XS_CUDA_ERROR_OUT_OF_MEMORY;
}

static xs_cu_result check_end(const struct xs_sim_queue *queue)
{
    const struct xs_sim_capture *capture = queue->capture;
    if (!capture)
        return xs_sim_misuse(XS_CUDA_ERROR_ILLEGAL_STATE, "the stream is not capturing");
    if (capture->origin != queue)
        return xs_sim_misuse(XS_CUDA_ERROR_STREAM_CAPTURE_UNMATCHED,
                             "the capture was begun on another stream");
    if (capture->mode != XS_CU_CAPTURE_MODE_RELAXED && capture->thread != xs_sim_self()->id)
        return xs_sim_misuse(XS_CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD,
                             "the capture was begun by another thread");
    return XS_CUDA_SUCCESS;
}

xs_cu_result xs_sim_do_cuStreamEndCapture(xs_cu_stream stream, xs_cu_graph *graph)
{
    struct xs_sim_queue *queue;
    if (!graph)
        return null_argument();
    xs_cu_result result = xs_sim_stream_queue(stream, &queue);
    if (result == XS_CUDA_SUCCESS)
        result = check_end(queue);
    if (result != XS_CUDA_SUCCESS)
        return result;
    if (queue->capture->invalid) {
        *graph = NULL;
        discard(queue->capture);
        return XS_CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    }
    *graph = (xs_cu_graph)queue->capture->graph;
    end(queue->capture);
    return XS_CUDA_SUCCESS;
}

xs_cu_result xs_sim_do_cuStreamIsCapturing(xs_cu_stream stream, int *status)
{
    struct xs_sim_queue *queue;
    if (!status)
        return null_argument();
    xs_cu_result result = xs_sim_stream_queue(stream, &queue);
    if (result == XS_CUDA_SUCCESS)
        result = xs_sim_capture_forbids_legacy(queue, false);
    if (result != XS_CUDA_SUCCESS)
        return result;
    if (!queue->capture)
        *status = XS_CU_CAPTURE_STATUS_NONE;
    else
        *status = queue->capture->invalid ? XS_CU_CAPTURE_STATUS_INVALIDATED
                                          : XS_CU_CAPTURE_STATUS_ACTIVE;
    return XS_CUDA_SUCCESS;
}

xs_cu_result xs_sim_do_cuThreadExchangeStreamCaptureMode(int *mode)
{
    struct xs_sim_thread *self = xs_sim_self();
    if (!mode)
        return null_argument();
    if (*mode < XS_CU_CAPTURE_MODE_GLOBAL || *mode > XS_CU_CAPTURE_MODE_RELAXED)
        return xs_sim_misuse(XS_CUDA_ERROR_INVALID_VALUE, "unknown capture mode %d", *mode);
    const int before = self->capture_mode;
    self->capture_mode = *mode;
    *mode = before;
    return XS_CUDA_SUCCESS;
}
