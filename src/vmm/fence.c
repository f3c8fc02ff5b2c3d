#include "vmm/fence.h"

#include <string.h>

#include "base/error.h"
#include "driver/driver.h"

struct fence {
    struct xs_list link;
    xs_cu_event event;
    struct xs_stream *stream; /* NULL: the whole context */
    uint64_t epoch;           /* stamps up to this are covered */
};

static struct fence *fence_of(struct xs_list *link)
{
    return XS_CONTAINER_OF(link, struct fence, link);
}

void xs_fences_init(struct xs_fences *fences)
{
    memset(fences, 0, sizeof(*fences));
    atomic_store(&fences->epoch, 1);
    xs_lock_init(&fences->lock, XS_RANK_FENCE);
    xs_slab_init(&fences->slab, sizeof(struct fence));
    xs_list_init(&fences->pending);
    xs_list_init(&fences->spare);
}

void xs_fences_destroy(struct xs_fences *fences)
{
    XS_LIST_FOR_EACH(link, &fences->pending)
        xs_cu_event_destroy(fence_of(link)->event);
    XS_LIST_FOR_EACH(link, &fences->spare)
        xs_cu_event_destroy(fence_of(link)->event);
    xs_slab_destroy(&fences->slab);
    xs_lock_destroy(&fences->lock);
}

static void raise_to(_Atomic uint64_t *mark, uint64_t epoch)
{
    if (atomic_load_explicit(mark, memory_order_relaxed) < epoch)
        atomic_store_explicit(mark, epoch, memory_order_release);
}

/* A fence record with an event, from the spare ones if there is one. */
static enum xseg_result get_fence(struct xs_fences *fences, struct fence **out)
{
    if (!xs_list_is_empty(&fences->spare)) {
        *out = fence_of(fences->spare.next);
        xs_list_remove(&(*out)->link);
        return XSEG_OK;
    }
    struct fence *f = xs_slab_get(&fences->slab);
    if (!f)
        return xs_fail(XSEG_ERROR_HOST_MEMORY, "no host memory for a fence's record");
    xs_list_init(&f->link);
    xs_cu_result code = xs_cu_event_create(&f->event, XS_CU_EVENT_DISABLE_TIMING);
    if (code) {
        xs_slab_put(&fences->slab, f);
        return xs_driver_result(code);
    }
    *out = f;
    return XSEG_OK;
}

/* Whether a pending fence covers all that was stamped so far for this stream (NULL: for all). */
static bool is_covered(const struct xs_fences *fences, const struct xs_stream *stream,
                       uint64_t last_stamp)
{
    if (last_stamp <= fences->context_closed)
        return true;
    for (const struct xs_list *link = fences->pending.prev; stream && link != &fences->pending;
         link = link->prev) {
        const struct fence *f = XS_CONTAINER_OF(link, const struct fence, link);
        if (f->stream == stream)
            return last_stamp <= f->epoch;
    }
    return stream && last_stamp <= atomic_load(&stream->passed);
}

static xs_cu_result record_event(struct fence *f, xs_cu_stream handle)
{
    if (f->stream)
        return xs_cu_event_record(f->event, handle);
    xs_cu_context context;
    xs_cu_result code = xs_cu_ctx_get_current(&context);
    return code ? code : xs_cu_ctx_record_event(context, f->event);
}

/* A stream that began to capture meanwhile may have taken the event into the capture, where it stands for nothing; and
 * to ask for it would end the capture. */
static bool may_be_captured(const struct fence *f, xs_cu_stream handle)
{
    int status = XS_CU_CAPTURE_STATUS_NONE;
    return f->stream &&
           (xs_cu_stream_is_capturing(handle, &status) || status != XS_CU_CAPTURE_STATUS_NONE);
}

static enum xseg_result record_locked(struct xs_fences *fences, struct xs_stream *stream,
                                      xs_cu_stream handle)
{
    uint64_t newest = stream ? stream->last_stamp : xs_fence_stamp(fences);
    if (is_covered(fences, stream, newest))
        return XSEG_OK;
    struct fence *f = NULL;
    enum xseg_result e = get_fence(fences, &f);
    if (e)
        return e;
    f->stream = stream;
    /* The counter moves on first: a free that still reads the old value queued its work before. */
    f->epoch = atomic_fetch_add(&fences->epoch, 1);
    xs_cu_result code = record_event(f, handle);
    if (code || may_be_captured(f, handle)) {
        xs_list_push_back(&fences->spare, &f->link);
        return xs_driver_result(code);
    }
    xs_list_push_back(&fences->pending, &f->link);
    fences->pending_count++;
    if (!stream)
        fences->context_closed = f->epoch;
    return XSEG_OK;
}

enum xseg_result xs_fence_record(struct xs_fences *fences, struct xs_stream *stream,
                                 xs_cu_stream handle)
{
    if (!stream && !xs_driver_has(XS_CALL_ctx_record_event))
        return xs_fail(XSEG_ERROR_NOT_SUPPORTED, "this driver has no cuCtxRecordEvent");
    xs_lock_acquire(&fences->lock);
    enum xseg_result e = record_locked(fences, stream, handle);
    xs_lock_release(&fences->lock);
    return e;
}

static void put_aside(struct xs_fences *fences, struct fence *f)
{
    xs_list_remove(&f->link);
    xs_list_push_back(&fences->spare, &f->link);
    fences->pending_count--;
}

static void mark_passed(struct xs_fences *fences, struct fence *f)
{
    raise_to(f->stream ? &f->stream->passed : &fences->context_passed, f->epoch);
    put_aside(fences, f);
}

/* A context's fence covers every fence recorded before it. */
static void mark_covered(struct xs_fences *fences, struct fence *f)
{
    if (!f->stream)
        while (fences->pending.next != &f->link)
            mark_passed(fences, fence_of(fences->pending.next));
    mark_passed(fences, f);
}

/* An event of a capture that was over before it could be seen is put aside, and another one will be recorded. */
static bool is_answer(xs_cu_result code)
{
    return code == XS_CUDA_ERROR_NOT_READY || code == XS_CUDA_ERROR_CAPTURED_EVENT;
}

enum xseg_result xs_fence_poll(struct xs_fences *fences, bool *progress)
{
    *progress = false;
    xs_cu_result code = XS_CUDA_SUCCESS;
    xs_lock_acquire(&fences->lock);
    for (struct xs_list *link = fences->pending.next, *next; link != &fences->pending;
         link = next) {
        next = link->next;
        code = xs_cu_event_query(fence_of(link)->event);
        if (code == XS_CUDA_SUCCESS) {
            mark_covered(fences, fence_of(link));
            *progress = true;
        } else if (code == XS_CUDA_ERROR_CAPTURED_EVENT) {
            put_aside(fences, fence_of(link));
        } else if (code != XS_CUDA_ERROR_NOT_READY) {
            break;
        }
    }
    xs_lock_release(&fences->lock);
    return is_answer(code) ? XSEG_OK : xs_driver_result(code);
}

static struct fence *newest_of_context(const struct xs_fences *fences)
{
    for (struct xs_list *link = fences->pending.prev; link != &fences->pending; link = link->prev)
        if (!fence_of(link)->stream)
            return fence_of(link);
    return NULL;
}

enum xseg_result xs_fence_wait_on_stream(struct xs_fences *fences, xs_cu_stream handle,
                                         uint64_t *epoch)
{
    *epoch = 0;
    xs_lock_acquire(&fences->lock);
    const struct fence *f = newest_of_context(fences);
    xs_cu_result code = f ? xs_cu_stream_wait_event(handle, f->event, 0) : XS_CUDA_SUCCESS;
    if (f && !code)
        *epoch = f->epoch;
    xs_lock_release(&fences->lock);
    return xs_driver_result(code);
}

static struct fence *oldest(const struct xs_fences *fences, bool of_context)
{
    for (struct xs_list *link = fences->pending.next; link != &fences->pending; link = link->next)
        if (!of_context || !fence_of(link)->stream)
            return fence_of(link);
    return of_context ? oldest(fences, false) : NULL;
}

/* The lock is held over the wait: other threads that need a fence have to wait for the same work. */
enum xseg_result xs_fence_wait_oldest(struct xs_fences *fences, bool of_context, bool *waited)
{
    xs_cu_result code;
    struct fence *f;
    xs_lock_acquire(&fences->lock);
    do {
        f = oldest(fences, of_context);
        code = f ? xs_cu_event_synchronize(f->event) : XS_CUDA_SUCCESS;
        if (code == XS_CUDA_ERROR_CAPTURED_EVENT)
            put_aside(fences, f);
    } while (code == XS_CUDA_ERROR_CAPTURED_EVENT);
    *waited = f && !code;
    if (*waited)
        mark_covered(fences, f);
    xs_lock_release(&fences->lock);
    return xs_driver_result(code);
}
