/*
 * Extents (the handles of cuMemCreate) and the mechanics of mapping them. No argument is checked
 * here: sim_vmm.c does that for the program, and sim_memory.c builds cuMemAlloc out of the same
 * parts.
 *
 * A "row" is a range of addresses that is made up of whole mappings.
 */
#ifndef XS_SIM_SIM_EXTENT_H
#define XS_SIM_SIM_EXTENT_H

#include "sim/sim_address.h"
#include "sim/sim_slots.h"

struct xs_sim_extent {
    struct xs_sim_slot slot;
    int device;
    size_t bytes;
    uint64_t offset; /* in the memory file */
    int file;        /* of another process, or -1: the device's own */
    size_t mappings; /* its memory stays until the last of them is gone */
    bool released;   /* the handle is dead for the program */
    bool for_alloc;  /* made for cuMemAlloc: never had a handle */
};

xs_cu_result xs_sim_extent_new(int device, size_t bytes, struct xs_sim_extent **out);
/* Memory of another process; takes over its file. It counts there and not here. */
xs_cu_result xs_sim_extent_import(int device, size_t bytes, int file, uint64_t offset,
                                  struct xs_sim_extent **out);
void xs_sim_extent_release(struct xs_sim_extent *extent);

/* Handle values carry the slot's generation, so a stale one is always known for what it is. */
xs_cu_mem xs_sim_extent_handle(const struct xs_sim_extent *extent);
struct xs_sim_extent *xs_sim_extent_of(xs_cu_mem handle);

/* pre: the range is free. OUT_OF_MEMORY when the host refuses. */
xs_cu_result xs_sim_map(struct xs_sim_reservation *reservation, xs_cu_ptr va,
                        struct xs_sim_extent *extent);

/* What keeps [va, va + bytes) from being a row, or NULL. */
const char *xs_sim_row_fault(struct xs_sim_reservation *reservation, xs_cu_ptr va, size_t bytes);

/* pre: a row. Both return the number of mappings. */
size_t xs_sim_row_unmap(struct xs_sim_reservation *reservation, xs_cu_ptr va, size_t bytes);
size_t xs_sim_row_access(struct xs_sim_reservation *reservation, xs_cu_ptr va, size_t bytes,
                         int device, int flags);

#endif
