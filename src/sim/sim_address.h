/*
 * Address space: reservations, and in each a slot per granule that says which mapping covers it, so
 * that a look-up costs one binary search over reservations and one array access. Addresses are
 * lowest fit from a fixed base, so a run repeats itself; where that base is taken, the kernel
 * chooses.
 */
#ifndef XS_SIM_SIM_ADDRESS_H
#define XS_SIM_SIM_ADDRESS_H

#include "base/list.h"
#include "sim/sim_abi.h"
#include "sim/sim_config.h"

struct xs_sim_extent;

struct xs_sim_mapping {
    struct xs_list link; /* xs_sim.mappings */
    struct xs_sim_extent *extent;
    xs_cu_ptr va;
    unsigned char access[XS_SIM_MAX_DEVICES]; /* XS_CU_ACCESS_* of each device */
};

struct xs_sim_reservation {
    xs_cu_ptr va;
    size_t bytes;
    size_t mapped;  /* mappings inside */
    bool for_alloc; /* made for cuMemAlloc: VMM calls may not touch it */
    struct xs_sim_mapping *slots[];
};

/* NULL when there is no address space. `align` is a power of two, `hint` may be 0. */
struct xs_sim_reservation *xs_sim_reserve(size_t bytes, size_t align, xs_cu_ptr hint);

/* pre: nothing is mapped in it. */
void xs_sim_unreserve(struct xs_sim_reservation *reservation);

/* The reservation that holds all of [va, va + bytes), or NULL. */
struct xs_sim_reservation *xs_sim_reservation_of(xs_cu_ptr va, size_t bytes);

/* The slot of the granule that holds `va`. pre: `va` is inside. */
struct xs_sim_mapping **xs_sim_slot(struct xs_sim_reservation *reservation, xs_cu_ptr va);

/* The mapping that covers `va`, or NULL. Any value may be passed. */
struct xs_sim_mapping *xs_sim_mapping_of(xs_cu_ptr va);

#endif
