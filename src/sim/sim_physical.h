/*
 * The physical memory of one device: a budget of bytes, and behind it a sparse memory file whose
 * ranges are handed out first fit, so that neighbouring addresses often get neighbouring offsets
 * and the kernel can merge their mappings. With XSEG_SIM_DATA=0 there is only the budget.
 */
#ifndef XS_SIM_SIM_PHYSICAL_H
#define XS_SIM_SIM_PHYSICAL_H

#include <stddef.h>
#include <stdint.h>

#include "sim/sim_abi.h"

struct xs_sim_physical {
    size_t capacity;
    size_t used;
    int fd;               /* -1 until the first use */
    unsigned char *taken; /* one byte a granule of the file */
    size_t granules;      /* of the file */
    size_t first_hole;    /* all granules below it are taken */
};

void xs_sim_physical_init(struct xs_sim_physical *physical, size_t capacity);

/* OUT_OF_MEMORY when the budget does not allow it. */
xs_cu_result xs_sim_physical_take(struct xs_sim_physical *physical, size_t bytes, uint64_t *offset);
void xs_sim_physical_give(struct xs_sim_physical *physical, size_t bytes, uint64_t offset);

#endif
