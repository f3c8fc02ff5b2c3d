/*
 * Queues: the work of one stream, first in, first out, and the passing of time. A queue outlives
 * its stream: destroying a busy stream only takes the handle away. See sim_control.h for when items
 * run.
 */
#ifndef XS_SIM_SIM_QUEUE_H
#define XS_SIM_SIM_QUEUE_H

#include "sim/sim_work.h"

struct xs_sim_context;
struct xs_sim_capture;

struct xs_sim_queue {
    struct xs_list link; /* xs_sim.queues */
    struct xs_list items;
    struct xs_sim_context *ctx;
    unsigned long long id;
    unsigned long long thread; /* whose per-thread stream this is, or 0 */
    bool legacy;
    bool blocking; /* ordered with the legacy stream */
    bool manual;
    bool orphan;                    /* the stream is gone: freed when the last item has run */
    bool in_host_fn;                /* a host function runs, without the lock */
    struct xs_sim_capture *capture; /* the one it takes part in, or NULL */
};

struct xs_sim_queue *xs_sim_queue_new(struct xs_sim_context *ctx); /* NULL: no memory */

/* The stream is gone. The queue is freed now or when its work is done. */
void xs_sim_queue_orphan(struct xs_sim_queue *queue);

/* Takes the item over. Nothing runs before the next xs_sim_queue_pump. */
void xs_sim_queue_push(struct xs_sim_queue *queue, struct xs_sim_item *item);
void xs_sim_queue_push_mark(struct xs_sim_queue *queue, struct xs_sim_mark *mark);
void xs_sim_queue_push_wait(struct xs_sim_queue *queue, struct xs_sim_mark *mark);

bool xs_sim_queue_is_busy(const struct xs_sim_queue *queue);

/* Runs all that can run by itself. Drops the lock around host functions. */
void xs_sim_queue_pump(void);

size_t xs_sim_queue_advance(struct xs_sim_queue *queue, size_t n);

/*
 * Behind everything that the streams of the context, destroyed ones too, have now. Returns how
 * many.
 */
size_t xs_sim_queue_mark_all(const struct xs_sim_context *ctx, struct xs_sim_mark *mark);

/* Makes time pass until the mark is reached, or until the context has nothing to do. */
void xs_sim_queue_reach(struct xs_sim_mark *mark);
void xs_sim_queue_finish(const struct xs_sim_context *ctx);

/* A violation if queued work uses memory that is being unmapped. */
void xs_sim_queue_check_unused(xs_cu_ptr va, size_t bytes);

#define XS_SIM_FOR_EACH_QUEUE(queue)                                                               \
    for (struct xs_sim_queue *queue = (struct xs_sim_queue *)xs_sim.queues.next;                   \
         &queue->link != &xs_sim.queues; queue = (struct xs_sim_queue *)queue->link.next)

#endif
