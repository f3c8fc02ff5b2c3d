/*
 * The state of the whole simulated driver, in one struct, and that of one thread. Everything in
 * struct xs_sim is guarded by its lock, which every exported function holds; only host functions
 * run without.
 */
#ifndef XS_SIM_SIM_STATE_H
#define XS_SIM_SIM_STATE_H

#include <pthread.h>

#include "base/list.h"
#include "sim/sim_config.h"
#include "sim/sim_ledger.h"
#include "sim/sim_physical.h"
#include "sim/sim_ranges.h"
#include "sim/sim_slots.h"

#define XS_SIM_CTX_STACK 32

struct xs_sim_context;

struct xs_sim {
    pthread_mutex_t lock;
    pthread_cond_t host_fn_done; /* a host function has returned */
    bool initialised;
    struct xs_sim_config config;
    struct xs_sim_ledger ledger;

    struct xs_sim_physical physical[XS_SIM_MAX_DEVICES];
    struct xs_sim_context *primary[XS_SIM_MAX_DEVICES];

    /* Handles given to the program. */
    struct xs_sim_slots extents;
    struct xs_sim_slots contexts;
    struct xs_sim_slots streams;
    struct xs_sim_slots events;
    struct xs_sim_slots graphs;

    /* Addresses given to the program. */
    struct xs_sim_ranges reservations;
    struct xs_sim_ranges blocks;
    struct xs_sim_ranges host_ranges;
    struct xs_list mappings;
    struct xs_list backings; /* shared memory of small cuMemAlloc blocks */

    /* Work. */
    struct xs_list queues;
    struct xs_list captures;
    size_t queued_items;  /* work items that wait in all queues */
    unsigned reach_after; /* queries of a pending event until it is come to; 0: never */
    unsigned long long next_stream_id;
    unsigned long long next_capture_id;
};

extern struct xs_sim xs_sim;

struct xs_sim_thread {
    unsigned long long id; /* never 0 */
    const char *call;      /* the entry point in progress, for messages */
    bool in_host_fn;
    int capture_mode; /* cuThreadExchangeStreamCaptureMode */
    size_t depth;
    struct xs_sim_context *stack[XS_SIM_CTX_STACK];
    char text[XS_SIM_TEXT_BYTES];
};

struct xs_sim_thread *xs_sim_self(void);

/* Takes the lock for a control function, and names it in messages. */
void xs_sim_control_enter(const char *call);
void xs_sim_control_leave(void);

#endif
