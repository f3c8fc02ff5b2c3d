/*
 * cuMemAlloc and friends. A block above half a granule has physical memory of its own, rounded up
 * to granules; smaller ones share a granule, cut into units of 512 bytes, which is given back with
 * its last block. cuMemAllocAsync is the same thing at once: there is no pool behind it.
 */
#ifndef XS_SIM_SIM_MEMORY_H
#define XS_SIM_SIM_MEMORY_H

#include "sim/sim_context.h"

/* Is all of the range inside one allocated block? */
bool xs_sim_block_holds(xs_cu_ptr va, size_t bytes);

/* The context that allocated the block that holds `va`, with its extent; or NULL. */
struct xs_sim_context *xs_sim_block_at(xs_cu_ptr va, xs_cu_ptr *base, size_t *bytes);

/* pre: `va` is a block whose stream-ordered free has come up. */
void xs_sim_block_free(xs_cu_ptr va);

void xs_sim_memory_drop_all(const struct xs_sim_context *ctx);

#endif
