/* The simulator's settings, from XSEG_SIM_* in the environment. Read once, by cuInit. */
#ifndef XS_SIM_SIM_CONFIG_H
#define XS_SIM_SIM_CONFIG_H

#include <stdbool.h>
#include <stddef.h>

#define XS_SIM_MAX_DEVICES 16

struct xs_sim_config {
    size_t devices;
    size_t capacity; /* bytes of each device */
    size_t granule;
    size_t vmm;    /* 0: a device without the virtual memory calls */
    size_t data;   /* 0: no memory behind extents, bookkeeping only */
    size_t report; /* 1: print the ledger at exit */
    size_t strict; /* 1: a call on a destroyed stream aborts, where the real driver crashes */
};

/* False after a line on stderr that quotes the bad value; `out` is then undefined. */
bool xs_sim_config_read(struct xs_sim_config *out);

#endif
