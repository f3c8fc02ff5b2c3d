#include "preload/capture.h"

#include "driver/driver.h"
#include "preload/door.h"
#include "preload/here.h"
#include "preload/order.h"

static _Atomic int open_captures;

bool xs_capture_is_open(void)
{
    return atomic_load_explicit(&open_captures, memory_order_relaxed) > 0;
}

static bool ask(xs_cu_stream stream)
{
    int status = XS_CU_CAPTURE_STATUS_NONE;
    return xs_driver_is_loaded() && xs_cu_stream_is_capturing(stream, &status) == XS_CUDA_SUCCESS &&
           status != XS_CU_CAPTURE_STATUS_NONE;
}

bool xs_capture_has(xs_cu_stream stream)
{
    return xs_unlikely(xs_capture_is_open()) && ask(stream);
}

/* ---- where they begin and end --------------------------------------------------------------- */

/* The library counts for each device that is in use; a capture that began before it was is asked about when its
 * stream is passed. */
static void count(int by)
{
    struct xs_here *here;
    atomic_fetch_add(&open_captures, by);
    if (!xs_here_enter(&here) && here->dev)
        xseg_capture(here->ordinal, by > 0);
}

/* The captured stream is another one than the legacy stream, and once it captures nothing can be waited for. It is
 * counted before, so that no thread records a context-wide event in between. */
static bool before_begin(xs_cu_stream stream)
{
    if (!xs_door_is_open())
        return false;
    xs_order_note_work(stream ? stream : XS_CU_STREAM_PER_THREAD, "cuStreamBeginCapture");
    count(1);
    return true;
}

static xs_cu_result after_begin(xs_cu_result code, bool counted)
{
    if (code && counted)
        count(-1);
    return code;
}

/* It has ended too where the driver says that it was invalid, but not where the stream did not capture. */
static xs_cu_result after_end(xs_cu_result code, bool was_capturing)
{
    if (was_capturing && code != XS_CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD)
        count(-1);
    return code;
}

#define DEFINE_BEGIN(symbol, params, args)                                                         \
    xs_cu_result symbol params                                                                     \
    {                                                                                              \
        bool counted = before_begin(stream);                                                       \
        return after_begin(xs_native_##symbol args, counted);                                      \
    }

DEFINE_BEGIN(cuStreamBeginCapture, (xs_cu_stream stream), (stream))
DEFINE_BEGIN(cuStreamBeginCapture_ptsz, (xs_cu_stream stream), (stream))
DEFINE_BEGIN(cuStreamBeginCapture_v2, (xs_cu_stream stream, int mode), (stream, mode))
DEFINE_BEGIN(cuStreamBeginCapture_v2_ptsz, (xs_cu_stream stream, int mode), (stream, mode))
DEFINE_BEGIN(cuStreamBeginCaptureToGraph,
             (xs_cu_stream stream, void *graph, const void *deps, const void *data, size_t n,
              int mode),
             (stream, graph, deps, data, n, mode))
DEFINE_BEGIN(cuStreamBeginCaptureToGraph_ptsz,
             (xs_cu_stream stream, void *graph, const void *deps, const void *data, size_t n,
              int mode),
             (stream, graph, deps, data, n, mode))

xs_cu_result cuStreamEndCapture(xs_cu_stream stream, void **graph)
{
    bool was_capturing = xs_capture_has(stream);
    return after_end(xs_native_cuStreamEndCapture(stream, graph), was_capturing);
}

xs_cu_result cuStreamEndCapture_ptsz(xs_cu_stream stream, void **graph)
{
    bool was_capturing = xs_capture_has(stream ? stream : XS_CU_STREAM_PER_THREAD);
    return after_end(xs_native_cuStreamEndCapture_ptsz(stream, graph), was_capturing);
}

xs_cu_result cuStreamDestroy_v2(xs_cu_stream stream)
{
    bool was_capturing = stream && xs_capture_has(stream);
    xs_cu_result code = xs_native_cuStreamDestroy_v2(stream);
    return code ? code : after_end(code, was_capturing);
}
