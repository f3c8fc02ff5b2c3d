/* What the calls cost on the real driver. */
#ifndef XS_SIM_SIM_COST_H
#define XS_SIM_SIM_COST_H

#include "sim/sim_entry.h"

/* The part of a call's cost that does not depend on its arguments; 0 where none was measured. */
uint64_t xs_sim_cost_fixed(enum xs_sim_symbol symbol);

/*
 * The part that goes with `amount`: bytes, handles or busy streams, whichever the call's row says.
 */
uint64_t xs_sim_cost_of(enum xs_sim_symbol symbol, uint64_t amount);

#endif
