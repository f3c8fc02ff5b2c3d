#include "sim/sim_physical.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "sim/sim_state.h"

void xs_sim_physical_init(struct xs_sim_physical *physical, size_t capacity)
{
    physical->capacity = capacity;
    physical->fd = -1;
}

/*
 * Holes between taken ranges can strand offsets that the budget still allows, so the file is four
 * times as long as the budget. It is sparse, and so is the map of it: length costs nothing.
 */
static bool open_file(struct xs_sim_physical *physical)
{
    if (physical->fd >= 0)
        return true;
    physical->granules = physical->capacity / xs_sim.config.granule * 4;
    physical->taken = calloc(physical->granules + 1, 1);
    const int fd = physical->taken ? memfd_create("xseg-sim", MFD_CLOEXEC) : -1;
    if (fd >= 0 && ftruncate(fd, (off_t)(physical->granules * xs_sim.config.granule)) == 0) {
        physical->fd = fd;
        return true;
    }
    perror("xseg-sim: no memory file");
    if (fd >= 0)
        close(fd);
    free(physical->taken);
    return false;
}

/* The first run of `n` free granules, or the number of granules if there is none. */
static size_t find_run(const struct xs_sim_physical *physical, size_t n)
{
    const unsigned char *taken = physical->taken;
    size_t at = physical->first_hole;
    while (physical->granules - at >= n) {
        const unsigned char *used = memchr(taken + at, 1, n);
        if (!used)
            return at;
        at = (size_t)(used - taken) + 1;
        while (at < physical->granules && taken[at])
            at++;
    }
    return physical->granules;
}

static bool take_offset(struct xs_sim_physical *physical, size_t bytes, uint64_t *offset)
{
    const size_t n = bytes / xs_sim.config.granule;
    if (!open_file(physical))
        return false;
    const size_t at = find_run(physical, n);
    if (at == physical->granules)
        return false;
    memset(physical->taken + at, 1, n);
    if (at == physical->first_hole)
        physical->first_hole += n;
    *offset = at * xs_sim.config.granule;
    return true;
}

xs_cu_result xs_sim_physical_take(struct xs_sim_physical *physical, size_t bytes, uint64_t *offset)
{
    *offset = 0;
    if (bytes > physical->capacity - physical->used)
        return XS_CUDA_ERROR_OUT_OF_MEMORY;
    if (xs_sim.config.data && !take_offset(physical, bytes, offset))
        return XS_CUDA_ERROR_OUT_OF_MEMORY;
    physical->used += bytes;
    return XS_CUDA_SUCCESS;
}

void xs_sim_physical_give(struct xs_sim_physical *physical, size_t bytes, uint64_t offset)
{
    physical->used -= bytes;
    if (!xs_sim.config.data)
        return;
    const size_t at = offset / xs_sim.config.granule;
    memset(physical->taken + at, 0, bytes / xs_sim.config.granule);
    physical->first_hole = xs_min(physical->first_hole, at);
    if (fallocate(physical->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)offset,
                  (off_t)bytes))
        perror("xseg-sim: cannot give memory back");
}
