#include "core/ladder.h"

#include <stdio.h>
#include <time.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/fmt.h"
#include "base/log.h"
#include "core/account.h"
#include "core/captures.h"
#include "core/classic.h"
#include "core/growth.h"
#include "core/reading.h"
#include "core/stale.h"
#include "core/trim.h"
#include "core/waiting.h"
#include "driver/driver.h"

/* A request while it climbs. */
struct climb {
    const struct xs_request *request;
    struct xs_device *dev;
    struct xs_block *block; /* not NULL: served */
    bool expandable;
    bool no_address; /* not for the smallest segment that would do */
    bool asked;      /* whether the stream captures: no event may be recorded on it or waited for */
    bool captures;   /* the answer */
    bool may_borrow;
    bool queued;     /* another thread was on the ladder, and may have left something */
    bool others;     /* as the climb began: other streams held memory */
    bool could_move; /* and the own one something that could move */
    bool waited;     /* for the GPU */
    uint64_t until;  /* when patience ends, 0: it has not begun */
    uint64_t found;  /* searches after a wait: what they serve is counted at the end */
    void *report;    /* of the refusal */
    char news[400];  /* to be logged once no lock is held */
};

/* ---- fences --------------------------------------------------------------------------------- */

/* Whether there are free blocks of other streams than the request's. */
static bool has_others(const struct climb *c, const struct xs_heap *heap)
{
    unsigned index = xs_bit_set_next(&heap->filled, 1);
    if (index == c->request->stream->index)
        index = xs_bit_set_next(&heap->filled, index + 1);
    return index < XS_BIT_SET_SIZE;
}

static bool others_hold_memory_locked(const struct climb *c)
{
    if (!xs_list_is_empty(&c->dev->waiting))
        return true;
    XS_LIST_FOR_EACH(link, &c->dev->pools) {
        struct xs_pool *pool = xs_pool_of_link(link);
        if (xs_pool_serves(pool, c->request->pool) &&
            (has_others(c, &pool->expandable) || has_others(c, &pool->classic[XS_CLASSIC_SMALL]) ||
             has_others(c, &pool->classic[XS_CLASSIC_LARGE])))
            return true;
    }
    return false;
}

static bool others_hold_memory(const struct climb *c)
{
    xs_lock_acquire(&c->dev->lock);
    bool others = others_hold_memory_locked(c);
    xs_lock_release(&c->dev->lock);
    return others;
}

/* Whether whole extents may lie in what the request's own stream has freed: they could move once it has passed. */
static bool could_move_locked(const struct climb *c)
{
    bool could = !c->expandable || !xs_list_is_empty(&c->dev->stale);
    XS_LIST_FOR_EACH(link, &c->dev->pools) {
        const struct xs_heap *heap = &xs_pool_of_link(link)->expandable;
        could |= xs_bins_at_least(&heap->free[c->request->stream->index], c->dev->caps.granule,
                                  0) != NULL;
    }
    return could;
}

/* Asked once, and of the legacy stream only where it matters: that captures nothing itself. */
static bool is_capturing(struct climb *c)
{
    const struct xs_request *r = c->request;
    if (!c->asked)
        c->captures = !xs_stream_is_none(r->handle) && xs_captures_has(r->handle);
    c->asked = true;
    return c->captures;
}

/* Closes what is open, so that it can pass: on the stream that was passed, and on those sure to be alive. */
static enum xseg_result record_fences(struct climb *c, bool others)
{
    const struct xs_request *r = c->request;
    enum xseg_result e =
        is_capturing(c) ? XSEG_OK : xs_fence_record(&c->dev->fences, r->stream, r->handle);
    return e || !others ? e : xs_device_record_fences(c->dev);
}

/* The same for all streams there are: what dead ones freed, or ones that never come back, has no other way. */
static enum xseg_result record_context_fence(struct climb *c)
{
    enum xseg_result e = XSEG_ERROR_NOT_SUPPORTED;
    if (!is_capturing(c) && others_hold_memory(c))
        e = xs_device_record_context_fence(c->dev);
    return e == XSEG_ERROR_NOT_SUPPORTED ? XSEG_OK : e;
}

static void count(struct climb *c, uint64_t *counter)
{
    xs_lock_acquire(&c->dev->lock);
    ++*counter;
    xs_lock_release(&c->dev->lock);
}

/* Looks in the heap once more, after something has changed. */
static bool search_again(struct climb *c, uint64_t *counter)
{
    c->block = xs_alloc_best_fit(c->request, counter);
    return c->block != NULL;
}

/* Notes which fences have passed, and what is idle by that. */
static enum xseg_result look(struct climb *c)
{
    bool progress = false;
    enum xseg_result e = xs_fence_poll(&c->dev->fences, &progress);
    if (progress)
        xs_device_settle(c->dev, c->request->stream);
    return e;
}

static enum xseg_result rung_poll(struct climb *c)
{
    enum xseg_result e = XSEG_OK;
    if (c->others || c->could_move) {
        e = record_fences(c, c->others);
        if (!e)
            e = look(c);
    }
    if (!e && c->others) {
        e = record_context_fence(c); /* only if they still hold some */
        if (!e)
            e = look(c);
    }
    if (!e && (c->others || c->could_move || c->queued))
        search_again(c, &c->dev->stats.now.rung_poll);
    return e;
}

/* A fence has been waited for: what it freed becomes usable. */
static void settle_after_wait(struct climb *c)
{
    c->waited = true;
    xs_caches_flush(c->dev);
    xs_device_settle(c->dev, c->request->stream);
}

/* Waits for one fence. *waited false: nothing to wait for. */
static enum xseg_result wait_for_fence(struct climb *c, bool *waited)
{
    enum xseg_result e = XSEG_OK;
    *waited = false;
    if (!is_capturing(c))
        e = xs_fence_wait_oldest(&c->dev->fences, others_hold_memory(c), waited);
    if (*waited)
        settle_after_wait(c);
    return e;
}

/*
 * So long a request is held up for memory that it can do without, and no longer: what it waits for may be waiting for what
 * the program does next, as one half of an exchange with another process is.
 */
#define PATIENCE_NS   10000000
#define LOOK_EVERY_NS 50000

/* The same for a request that can be served by new memory. False: in vain. What is of no stream waits as long as it takes, as
 * the free that it stands for would have. */
static bool wait_a_while(struct climb *c)
{
    bool progress = false;
    if (record_fences(c, others_hold_memory(c)))
        return false;
    if (xs_stream_is_none(c->request->handle))
        return !wait_for_fence(c, &progress) && progress;
    if (!c->until)
        c->until = xs_clock_ns() + PATIENCE_NS;
    while (!xs_fence_poll(&c->dev->fences, &progress) && !progress && xs_clock_ns() < c->until)
        nanosleep(&(struct timespec){.tv_nsec = LOOK_EVERY_NS}, NULL);
    settle_after_wait(c);
    return progress;
}

/* ---- growing -------------------------------------------------------------------------------- */

/* There may be a pool for each of many graphs: they take less address space, and more often. */
#define POOL_SHARE 32

static enum xseg_result add_segment(struct climb *c)
{
    struct xs_device *dev = c->dev;
    if (c->request->bytes > dev->caps.total_bytes)
        return xs_fail(XSEG_ERROR_OUT_OF_MEMORY, "more than the device has");
    size_t want = xs_policy_va_reserve(&dev->policy, dev->caps.total_bytes);
    if (!want)
        want = xs_device_default_reserve(dev);
    if (!xs_pool_is_default(c->request->pool))
        want = xs_max(want / POOL_SHARE, c->request->bytes);
    xs_trim_dead_pools(dev);
    struct xs_heap *heap = &c->request->pool->expandable;
    struct xs_segment *segment;
    enum xseg_result e = xs_segment_reserve(&dev->caps, want, c->request->bytes, &segment);
    c->no_address = e == XSEG_ERROR_OUT_OF_MEMORY;
    if (e)
        return e;
    xs_lock_acquire(&dev->lock);
    bool ok = xs_heap_reserve(heap, 1);
    if (ok) {
        xs_heap_add_segment(heap, segment, XS_BLOCK_HOLE);
        xs_gauge_add(&dev->stats.now.segments, 1);
        dev->stats.now.address_bytes += segment->bytes;
    }
    xs_lock_release(&dev->lock);
    if (ok)
        return XSEG_OK;
    xs_segment_unreserve(segment);
    return xs_fail(XSEG_ERROR_HOST_MEMORY, "no host memory for a segment's records");
}

/* Address space that cannot be had at all: classic segments from now on (reports R102, R103). */
static void fall_back_to_classic(struct climb *c)
{
    struct xs_device *dev = c->dev;
    snprintf(c->news, sizeof(c->news),
             "device %d: no address space can be reserved (%s); using cudaMalloc segments",
             dev->caps.ordinal, xs_error_text());
    xs_lock_acquire(&dev->lock);
    dev->no_vmm = true;
    xs_lock_release(&dev->lock);
    c->expandable = false;
}

/* Moving what the GPU is still busy with would have to wait for it. So new extents are taken instead,
 * but only up to a small slack above the most that was ever live at once, and what waits in vain have added to it. */
static bool should_wait(const struct xs_growth *g)
{
    const struct xs_device *dev = g->dev;
    const struct xseg_stats *now = &dev->stats.now;
    if (!g->fresh_bytes || !(g->movable.waiting_bytes + g->movable.own.bytes))
        return false;
    size_t live = xs_max(dev->most_out, dev->out_bytes + g->bytes);
    size_t most = live + xs_device_slack(dev, live) + dev->waived_bytes;
    return now->reserved_bytes.current + g->fresh_bytes > most;
}

/* Whether what the stream has freed may be mapped for it a second time. A graph that is captured will be launched anywhere. */
static bool may_alias(const struct climb *c)
{
    const struct xs_device *dev = c->dev;
    return dev->policy.alias && !dev->no_alias && !c->captures &&
           !xs_stream_is_none(c->request->handle);
}

/* One try. NOT_SUPPORTED: there is no window, or it is better to wait first (*wait). */
static enum xseg_result grow_once(struct climb *c, bool patient, bool *wait)
{
    struct xs_device *dev = c->dev;
    struct xs_growth growth;
    xs_lock_acquire(&dev->lock);
    enum xseg_result e = xs_growth_plan(&growth, c->request, may_alias(c));
    *wait = !e && patient && should_wait(&growth) && !c->captures;
    if (*wait)
        xs_growth_cancel(&growth);
    xs_lock_release(&dev->lock);
    if (e || *wait)
        return e;
    struct xs_block *block;
    e = xs_growth_run(&growth, c->request, &block);
    if (!e)
        c->block = block;
    else if (e != XSEG_ERROR_OUT_OF_MEMORY && growth.alias_stamp)
        dev->no_alias = true;
    /* The driver's word for "not supported" is not the plan's. */
    return e == XSEG_ERROR_NOT_SUPPORTED ? XSEG_ERROR_DRIVER : e;
}

/* Addresses are short, and some are only kept until the GPU has passed. False: there is nothing to wait for. */
static bool wait_for_addresses(struct climb *c)
{
    bool waited = false;
    if (!c->no_address || xs_list_is_empty(&c->dev->stale))
        return false;
    if (record_fences(c, others_hold_memory(c)) || wait_for_fence(c, &waited) || !waited)
        return false;
    c->no_address = false;
    return true;
}

static enum xseg_result grow_expandable(struct climb *c)
{
    struct xs_device *dev = c->dev;
    bool patient = true;
    dev->max_fresh_bytes = SIZE_MAX;
    for (;;) {
        bool wait, alias = may_alias(c);
        size_t most = dev->max_fresh_bytes;
        xs_stale_sweep(dev);
        enum xseg_result e = grow_once(c, patient, &wait);
        if (e && alias != may_alias(c))
            continue; /* the driver may refuse only that */
        if (wait) {
            patient = wait_a_while(c);
            if (!patient)
                dev->waived_bytes += xs_device_slack(dev, dev->most_out);
            if (search_again(c, &c->found))
                return XSEG_OK;
        } else if (e == XSEG_ERROR_NOT_SUPPORTED) {
            e = add_segment(c);
            if (e && !wait_for_addresses(c))
                return e;
        } else if (e != XSEG_ERROR_OUT_OF_MEMORY || dev->max_fresh_bytes == most) {
            return e; /* served, failed, or the smallest extents do not fit either */
        }
    }
}

static enum xseg_result grow(struct climb *c)
{
    if (c->expandable) {
        enum xseg_result e = grow_expandable(c);
        if (!c->no_address)
            return e;
        fall_back_to_classic(c);
    }
    return xs_classic_grow(c->request, &c->block);
}

static enum xseg_result rung_grow(struct climb *c)
{
    xs_driver_clear_error();
    return grow(c);
}

/* What other streams have freed comes before this stream's further work once it waits for their event: the
 * GPU waits, the CPU does not. */
static void adopt(struct climb *c, uint64_t epoch)
{
    struct xs_device *dev = c->dev;
    struct xs_stream *stream = c->request->stream;
    xs_lock_acquire(&dev->lock);
    uint64_t stamp = xs_fence_stamp(&dev->fences);
    stream->last_stamp = stamp;
    xs_waiting_adopt(dev, stream, epoch);
    XS_LIST_FOR_EACH(link, &dev->pools) {
        struct xs_pool *pool = xs_pool_of_link(link);
        if (!xs_pool_serves(pool, c->request->pool))
            continue;
        xs_heap_adopt(&pool->expandable, stream, epoch, stamp);
        for (unsigned i = 0; i < XS_CLASSIC_COUNT; i++)
            xs_heap_adopt(&pool->classic[i], stream, epoch, stamp);
    }
    xs_lock_release(&dev->lock);
}

static enum xseg_result rung_borrow(struct climb *c)
{
    uint64_t epoch = 0;
    if (!c->may_borrow || is_capturing(c) || !others_hold_memory(c))
        return XSEG_OK;
    enum xseg_result e = xs_fence_wait_on_stream(&c->dev->fences, c->request->handle, &epoch);
    if (e || !epoch)
        return e;
    adopt(c, epoch);
    search_again(c, &c->dev->stats.now.rung_borrow);
    return XSEG_OK;
}

static enum xseg_result rung_wait(struct climb *c)
{
    bool waited = false;
    /* What was borrowed waits for this stream now. */
    enum xseg_result e = record_fences(c, others_hold_memory(c));
    if (!e)
        e = wait_for_fence(c, &waited);
    while (!e && waited && !search_again(c, &c->found)) {
        e = grow(c);
        if (e == XSEG_ERROR_OUT_OF_MEMORY)
            e = wait_for_fence(c, &waited);
        waited &= !c->block;
    }
    return e;
}

static bool lends(const struct xs_pool *pool)
{
    return pool->use_on_oom;
}

/* Pools that were made for it lend their free blocks to the default one. */
static enum xseg_result rung_pools(struct climb *c)
{
    struct xs_device *dev = c->dev;
    struct xs_request request = *c->request;
    if (!xs_pool_is_default(request.pool))
        return XSEG_OK;
    for (struct xs_pool *pool = NULL; (pool = xs_pool_next(dev, pool, lends));) {
        xs_request_choose(&request, pool);
        c->block = xs_alloc_best_fit(&request, &dev->stats.now.rung_pools);
        if (!c->block)
            continue;
        xs_pool_let_go(dev, pool);
        return XSEG_OK;
    }
    return XSEG_OK;
}

/* Grows again if giving back has changed anything. */
static enum xseg_result grow_after(struct climb *c, enum xseg_result released,
                                   uint64_t calls_before)
{
    uint64_t *retries = &c->dev->stats.now.alloc_retries;
    if (released)
        return released;
    if (calls_before == xs_driver_calls(XS_CALL_mem_free) + xs_driver_calls(XS_CALL_mem_release))
        return XSEG_ERROR_OUT_OF_MEMORY;
    count(c, retries);
    enum xseg_result e = grow(c);
    if (c->block)
        count(c, &c->dev->stats.now.rung_release);
    return e;
}

/* Classic segments go back: first just enough of them where the policy keeps large ones apart, then all; and
 * what the other kind of heap caches. */
static enum xseg_result rung_release(struct climb *c)
{
    struct xs_device *dev = c->dev;
    uint64_t calls = xs_driver_calls(XS_CALL_mem_free) + xs_driver_calls(XS_CALL_mem_release);
    enum xseg_result e = XSEG_ERROR_OUT_OF_MEMORY;
    if (!c->expandable)
        e = grow_after(c, xs_classic_release_for(dev, c->request), calls);
    if (e != XSEG_ERROR_OUT_OF_MEMORY)
        return e;
    calls = xs_driver_calls(XS_CALL_mem_free) + xs_driver_calls(XS_CALL_mem_release);
    return grow_after(c, xs_trim_for_request(dev, c->expandable), calls);
}

/* ---- out of memory -------------------------------------------------------------------------- */

static _Atomic(const struct xs_refusal_hooks *) refusal_hooks;

void xs_ladder_on_refusal(const struct xs_refusal_hooks *hooks)
{
    atomic_store(&refusal_hooks, hooks);
}

/* Under GROWTH, so that what was found wanting is still there to be looked at. */
static enum xseg_result out_of_memory(struct climb *c)
{
    struct xs_device *dev = c->dev;
    struct xs_refused r = {.request = c->request, .error = *xs_driver_last_error()};
    r.free_bytes = xs_reading_device_free(dev);
    xs_lock_acquire(&dev->lock);
    dev->stats.now.out_of_memory++;
    xs_history_note(&dev->history, XS_EVENT_OUT_OF_MEMORY, c->request->pool->expandable.pool_number,
                    r.free_bytes == UINT64_MAX ? 0 : r.free_bytes, c->request->bytes,
                    c->request->handle);
    xs_lock_release(&dev->lock);
    char want[XS_FMT_BYTES];
    xs_fail(XSEG_ERROR_OUT_OF_MEMORY, "out of memory on device %d: %s wanted", dev->caps.ordinal,
            xs_fmt_bytes(want, c->request->bytes));
    const struct xs_refusal_hooks *hooks = atomic_load(&refusal_hooks);
    if (hooks)
        c->report = hooks->look(&r);
    return XSEG_ERROR_OUT_OF_MEMORY;
}

/* With no lock held: the report may be written anywhere, and the program may be called. */
static void tell(const struct climb *c)
{
    const struct xs_refusal_hooks *hooks = atomic_load(&refusal_hooks);
    if (hooks && c->report)
        hooks->tell(c->report);
}

enum xseg_result xs_ladder_climb(const struct xs_request *request, struct xs_block **block)
{
    static enum xseg_result (*const rungs[])(struct climb *) = {
        rung_poll, rung_grow, rung_borrow, rung_wait, rung_pools, rung_release};
    struct xs_device *dev = request->dev;
    struct climb c = {.request = request, .dev = dev};
    struct xs_context_scope scope;
    c.queued = !xs_lock_try(&dev->growth);
    if (c.queued)
        xs_lock_acquire(&dev->growth);
    enum xseg_result e = xs_context_enter(&dev->context, &scope);
    if (e)
        goto unlock;
    bool none = xs_stream_is_none(request->handle);
    bool captures = request->handle && is_capturing(&c);
    xs_lock_acquire(&dev->lock);
    c.expandable = xs_alloc_is_expandable(dev);
    c.may_borrow = dev->policy.cross_stream_wait && !none;
    c.others = others_hold_memory_locked(&c);
    c.could_move = could_move_locked(&c);
    if (!xs_stream_is_trusted(request->stream))
        xs_streams_mark_capturing(&dev->streams, request->stream, captures);
    xs_lock_release(&dev->lock);
    for (unsigned i = 0; i < XS_COUNT_OF(rungs) && !c.block && !e; i++) {
        e = rungs[i](&c);
        if (e == XSEG_ERROR_OUT_OF_MEMORY)
            e = XSEG_OK;
    }
    if (c.block && c.waited)
        count(&c, &dev->stats.now.rung_wait);
    if (!e && !c.block)
        e = out_of_memory(&c);
    *block = c.block;
    xs_context_leave(&scope);
unlock:
    xs_lock_release(&dev->growth);
    if (c.news[0])
        xs_log("%s", c.news);
    tell(&c);
    return e;
}
