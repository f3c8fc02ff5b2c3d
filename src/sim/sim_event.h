/* Events. What an event was recorded behind is a mark; recording again just takes a new one. */
#ifndef XS_SIM_SIM_EVENT_H
#define XS_SIM_SIM_EVENT_H

#include "sim/sim_context.h"
#include "sim/sim_work.h"

struct xs_sim_event {
    struct xs_sim_slot slot;
    const struct xs_sim_context *ctx;
    struct xs_sim_mark *mark;    /* NULL: never recorded, or in a capture */
    unsigned long long captured; /* id of the capture it was last recorded in, or 0 */
    unsigned asked;              /* queries since then that found it pending */
};

void xs_sim_event_drop_all(const struct xs_sim_context *ctx);

#endif
