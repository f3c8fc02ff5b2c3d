/*
 * Contexts: the primary one of each device, created ones, and each thread's stack of current ones.
 */
#ifndef XS_SIM_SIM_CONTEXT_H
#define XS_SIM_SIM_CONTEXT_H

#include <stdbool.h>

#include "sim/sim_abi.h"
#include "sim/sim_slots.h"

struct xs_sim_context {
    struct xs_sim_slot slot; /* that of a primary context is never given back */
    int device;
    bool primary;
    unsigned users; /* 1 for a created context; retains of a primary one, which is dead at 0 */
};

/* The current context, or NULL where there is none or a dead one. */
struct xs_sim_context *xs_sim_context_current(void);

/* SUCCESS if a live context is current; else a violation. */
xs_cu_result xs_sim_context_require(void);

/* The live context behind a handle, or NULL. */
struct xs_sim_context *xs_sim_context_of(xs_cu_context handle);

#endif
