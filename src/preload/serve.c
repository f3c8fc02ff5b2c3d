#include "preload/serve.h"

#include "core/inside.h"
#include "core/runtime.h"
#include "ipc/ipc_export.h"
#include "preload/capture.h"
#include "preload/door.h"
#include "preload/order.h"
#include "preload/peer.h"
#include "preload/record.h"
#include "vmm/stream.h"

/* Out of memory is final where a limit was set, or where the driver's own call would invalidate a capture. The
 * driver has the last word otherwise, and on everything else. */
static enum xs_served failed(const struct xs_here *here, enum xseg_result e)
{
    size_t limit = SIZE_MAX;
    if (e != XSEG_ERROR_OUT_OF_MEMORY)
        return XS_SERVED_NOT;
    xseg_get_limit(here->ordinal, &limit);
    return limit != SIZE_MAX || xs_capture_is_open() ? XS_SERVED_FAIL : XS_SERVED_NOT;
}

static enum xs_served serve(const struct xs_here *here, xs_cu_ptr *va, size_t bytes,
                            xs_cu_stream stream)
{
    void *p;
    enum xseg_result e = xseg_malloc(&p, bytes, here->ordinal, stream);
    if (xs_unlikely(e))
        return failed(here, e);
    *va = (uintptr_t)p;
    xs_record_alloc(*va, bytes, stream);
    return XS_SERVED;
}

enum xs_served xs_serve_alloc(const struct xs_here *here, xs_cu_ptr *va, size_t bytes)
{
    if (xs_unlikely(!xs_serve_may(here, bytes)))
        return XS_SERVED_NOT;
    return serve(here, va, bytes, xs_order_is_several() ? XS_STREAM_ANY : NULL);
}

enum xs_served xs_serve_alloc_on(const struct xs_here *here, xs_cu_ptr *va, size_t bytes,
                                 xs_cu_stream stream)
{
    if (!xs_serve_may(here, bytes))
        return XS_SERVED_NOT;
    xs_order_note_work(stream, "cuMemAllocAsync");
    return serve(here, va, bytes, stream);
}

/* ---- freeing -------------------------------------------------------------------------------- */

/* What is no live allocation may lie inside one, or where one was: then the driver must not see it. */
static enum xs_served not_live(xs_cu_ptr va, xs_cu_result *code)
{
    *code = XS_CUDA_ERROR_INVALID_VALUE;
    return xs_inside_find(va).dev ? XS_SERVED : XS_SERVED_NOT;
}

static enum xs_served answer(xs_cu_ptr va, enum xseg_result e, xs_cu_result *code)
{
    if (xs_likely(e == XSEG_OK)) {
        *code = XS_CUDA_SUCCESS;
        return XS_SERVED;
    }
    if (e == XSEG_ERROR_UNKNOWN_POINTER)
        return not_live(va, code);
    *code = XS_CUDA_ERROR_UNKNOWN;
    return XS_SERVED;
}

bool xs_serve_is_ours(xs_cu_ptr va)
{
    const struct xs_block *block = va ? xs_runtime_find((const void *)(uintptr_t)va) : NULL;
    return block && xs_block_state_of(block) == XS_BLOCK_LIVE;
}

enum xs_served xs_serve_free(xs_cu_ptr va, xs_cu_result *code)
{
    void *p = (void *)(uintptr_t)va;
    const struct xs_block *block = xs_runtime_is_over() ? NULL : xs_runtime_find(p);
    if (!block)
        return xs_runtime_is_over() ? XS_SERVED_NOT : not_live(va, code);
    xs_record_free(va);
    xs_ipc_forget(va);
    xs_peer_wait(block->heap->owner);
    return answer(va, xs_order_is_several() ? xseg_free_async(p, XS_STREAM_ALL) : xseg_free(p),
                  code);
}

enum xs_served xs_serve_free_on(xs_cu_ptr va, xs_cu_stream stream, xs_cu_result *code)
{
    if (!xs_serve_is_ours(va))
        return xs_runtime_is_over() ? XS_SERVED_NOT : not_live(va, code);
    xs_order_note_work(stream, "cuMemFreeAsync");
    xs_record_free(va);
    xs_ipc_forget(va);
    return answer(va, xseg_free_async((void *)(uintptr_t)va, stream), code);
}
