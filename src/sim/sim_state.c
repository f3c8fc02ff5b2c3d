#include "sim/sim_state.h"

#include <stdatomic.h>

#include "sim/sim_context.h"
#include "sim/sim_event.h"
#include "sim/sim_extent.h"
#include "sim/sim_graph.h"
#include "sim/sim_stream.h"

#define EMPTY_LIST(field) .field = {&xs_sim.field, &xs_sim.field}

struct xs_sim xs_sim = {
    .lock = PTHREAD_MUTEX_INITIALIZER,
    .host_fn_done = PTHREAD_COND_INITIALIZER,
    .extents.stride = sizeof(struct xs_sim_extent),
    .contexts.stride = sizeof(struct xs_sim_context),
    .streams.stride = sizeof(struct xs_sim_stream),
    .events.stride = sizeof(struct xs_sim_event),
    .graphs.stride = sizeof(struct xs_sim_graph),
    EMPTY_LIST(mappings),
    EMPTY_LIST(backings),
    EMPTY_LIST(queues),
    EMPTY_LIST(captures),
};

struct xs_sim_thread *xs_sim_self(void)
{
    static _Thread_local struct xs_sim_thread self;
    static atomic_ullong threads;
    if (self.id == 0) {
        self.id = atomic_fetch_add(&threads, 1) + 1;
        self.call = "";
    }
    return &self;
}

void xs_sim_control_enter(const char *call)
{
    pthread_mutex_lock(&xs_sim.lock);
    xs_sim_self()->call = call;
}

void xs_sim_control_leave(void)
{
    pthread_mutex_unlock(&xs_sim.lock);
}
