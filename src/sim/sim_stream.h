/*
 * Stream handles, and the way of work into a queue. NULL and 0x1 are the legacy stream of the
 * current context, 0x2 is the calling thread's own. The queues of default streams are made on first
 * use and live as long as the context, those of ended threads included.
 */
#ifndef XS_SIM_SIM_STREAM_H
#define XS_SIM_SIM_STREAM_H

#include "sim/sim_queue.h"
#include "sim/sim_slots.h"

struct xs_sim_stream {
    struct xs_sim_slot slot;
    struct xs_sim_queue *queue;
};

/* A handle that is no live stream is a violation; in strict mode it ends the process. */
xs_cu_result xs_sim_stream_queue(xs_cu_stream stream, struct xs_sim_queue **out);

/*
 * Takes the item over: queued, or kept by the graph when the stream captures, or dropped on error.
 */
xs_cu_result xs_sim_stream_submit(struct xs_sim_queue *queue, struct xs_sim_item *item);

/*
 * Orders what is pushed next behind the legacy stream's work or, on the legacy stream, the others'.
 */
void xs_sim_stream_order(struct xs_sim_queue *queue);

void xs_sim_stream_drop_all(const struct xs_sim_context *ctx);

#endif
