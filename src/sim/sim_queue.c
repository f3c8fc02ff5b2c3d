#include "sim/sim_queue.h"

#include <stdlib.h>

#include "sim/sim_context.h"
#include "sim/sim_state.h"

_Static_assert(offsetof(struct xs_sim_queue, link) == 0, "XS_SIM_FOR_EACH_QUEUE casts");
_Static_assert(offsetof(struct xs_sim_item, link) == 0, "head_of casts");

struct xs_sim_queue *xs_sim_queue_new(struct xs_sim_context *ctx)
{
    struct xs_sim_queue *queue = calloc(1, sizeof(*queue));
    if (!queue)
        return NULL;
    xs_list_init(&queue->items);
    queue->ctx = ctx;
    queue->id = ++xs_sim.next_stream_id;
    xs_list_push_back(&xs_sim.queues, &queue->link);
    return queue;
}

bool xs_sim_queue_is_busy(const struct xs_sim_queue *queue)
{
    return queue->in_host_fn || !xs_list_is_empty(&queue->items);
}

static bool free_if_done(struct xs_sim_queue *queue)
{
    if (!queue->orphan || xs_sim_queue_is_busy(queue))
        return false;
    xs_list_remove(&queue->link);
    free(queue);
    return true;
}

void xs_sim_queue_orphan(struct xs_sim_queue *queue)
{
    queue->orphan = true;
    free_if_done(queue);
}

void xs_sim_queue_push(struct xs_sim_queue *queue, struct xs_sim_item *item)
{
    xs_list_push_back(&queue->items, &item->link);
    xs_sim.queued_items += xs_sim_item_is_work(item);
}

static void push_ordering(struct xs_sim_queue *queue, enum xs_sim_work work,
                          struct xs_sim_mark *mark)
{
    struct xs_sim_item *item = xs_sim_item_new(work);
    item->mark = mark;
    mark->refs++;
    xs_sim_queue_push(queue, item);
}

void xs_sim_queue_push_mark(struct xs_sim_queue *queue, struct xs_sim_mark *mark)
{
    mark->remaining++;
    push_ordering(queue, XS_SIM_MARK, mark);
}

void xs_sim_queue_push_wait(struct xs_sim_queue *queue, struct xs_sim_mark *mark)
{
    if (mark->remaining)
        push_ordering(queue, XS_SIM_WAIT, mark);
}

static struct xs_sim_item *head_of(const struct xs_sim_queue *queue)
{
    return xs_list_is_empty(&queue->items) ? NULL : (struct xs_sim_item *)queue->items.next;
}

/* Without the lock: a host function may take its time, and may ask whether an event is done. */
static void run_host_fn(struct xs_sim_queue *queue, const struct xs_sim_item *item)
{
    struct xs_sim_thread *self = xs_sim_self();
    const char *call = self->call;
    queue->in_host_fn = self->in_host_fn = true;
    pthread_mutex_unlock(&xs_sim.lock);
    item->fn(item->data);
    pthread_mutex_lock(&xs_sim.lock);
    queue->in_host_fn = self->in_host_fn = false;
    self->call = call;
    pthread_cond_broadcast(&xs_sim.host_fn_done);
}

/* pre: the queue has a head and is not in a host function. */
static void run_head(struct xs_sim_queue *queue)
{
    struct xs_sim_item *item = head_of(queue);
    xs_list_remove(&item->link);
    xs_sim.queued_items -= xs_sim_item_is_work(item);
    if (item->work == XS_SIM_MARK)
        item->mark->remaining--;
    else if (item->work == XS_SIM_HOST_FN)
        run_host_fn(queue, item);
    else if (item->work != XS_SIM_WAIT)
        xs_sim_item_run(item, queue->ctx->device, queue->id);
    xs_sim_item_free(item);
}

/* The head waits for a mark that is not reached yet, or a host function is still at it. */
static bool is_blocked(const struct xs_sim_queue *queue)
{
    const struct xs_sim_item *head = head_of(queue);
    return queue->in_host_fn || (head->work == XS_SIM_WAIT && head->mark->remaining);
}

static bool can_run_by_itself(const struct xs_sim_queue *queue)
{
    const struct xs_sim_item *head = head_of(queue);
    if (!head || is_blocked(queue))
        return false;
    return !xs_sim_item_is_work(head) || !queue->manual;
}

/* One queue's turn. True if anything changed: then other queues may have become ready. */
static bool settle(struct xs_sim_queue *queue)
{
    bool changed = false;
    for (; can_run_by_itself(queue); changed = true)
        run_head(queue);
    return free_if_done(queue) || changed;
}

static bool settle_any(void)
{
    XS_SIM_FOR_EACH_QUEUE(queue)
    if (settle(queue))
        return true; /* the list may have changed under us: start again */
    return false;
}

void xs_sim_queue_pump(void)
{
    while (settle_any())
        ;
}

size_t xs_sim_queue_advance(struct xs_sim_queue *queue, size_t n)
{
    size_t done = 0;
    while (done < n && head_of(queue) && !is_blocked(queue)) {
        done += xs_sim_item_is_work(head_of(queue));
        run_head(queue);
    }
    xs_sim_queue_pump();
    return done;
}

size_t xs_sim_queue_mark_all(const struct xs_sim_context *ctx, struct xs_sim_mark *mark)
{
    size_t busy = 0;
    XS_SIM_FOR_EACH_QUEUE(queue)
    {
        if (queue->ctx != ctx || !xs_sim_queue_is_busy(queue))
            continue;
        xs_sim_queue_push_mark(queue, mark);
        busy++;
    }
    return busy;
}

static struct xs_sim_queue *queue_before(const struct xs_sim_mark *mark)
{
    XS_SIM_FOR_EACH_QUEUE(queue)
    XS_LIST_FOR_EACH(node, &queue->items) {
        const struct xs_sim_item *item = (struct xs_sim_item *)node;
        if (item->work == XS_SIM_MARK && item->mark == mark)
            return queue;
    }
    return NULL;
}

/*
 * Runs exactly what stands before the mark. What its streams wait for was submitted earlier, so the
 * recursion ends.
 */
void xs_sim_queue_reach(struct xs_sim_mark *mark)
{
    mark->refs++;
    while (mark->remaining) {
        struct xs_sim_queue *queue = queue_before(mark);
        if (!queue || queue->in_host_fn)
            pthread_cond_wait(&xs_sim.host_fn_done, &xs_sim.lock);
        else if (is_blocked(queue))
            xs_sim_queue_reach(head_of(queue)->mark);
        else
            run_head(queue);
    }
    xs_sim_mark_drop(mark);
    xs_sim_queue_pump();
}

void xs_sim_queue_finish(const struct xs_sim_context *ctx)
{
    struct xs_sim_mark *mark = xs_sim_mark_new();
    xs_sim_queue_mark_all(ctx, mark);
    xs_sim_queue_reach(mark);
    xs_sim_mark_drop(mark);
}

void xs_sim_queue_check_unused(xs_cu_ptr va, size_t bytes)
{
    if (xs_sim.queued_items == 0)
        return;
    XS_SIM_FOR_EACH_QUEUE(queue)
    XS_LIST_FOR_EACH(node, &queue->items) {
        if (!xs_sim_item_uses((struct xs_sim_item *)node, va, bytes))
            continue;
        xs_sim_misuse(XS_CUDA_SUCCESS,
                      "use after unmap: 0x%llx + %zu is used by work queued in stream %llu", va,
                      bytes, queue->id);
        return;
    }
}
