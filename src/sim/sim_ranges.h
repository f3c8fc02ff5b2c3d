/*
 * Address ranges that do not overlap, each with its owner, in an array sorted by address: look-up
 * is a binary search. The caller holds the simulator's lock.
 */
#ifndef XS_SIM_SIM_RANGES_H
#define XS_SIM_SIM_RANGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct xs_sim_range {
    uint64_t va;
    size_t bytes;
    void *owner;
};

struct xs_sim_ranges {
    struct xs_sim_range *at;
    size_t count;
    size_t room;
};

/* The range that holds `va`, or NULL. Valid until the next insert or remove. */
struct xs_sim_range *xs_sim_ranges_find(const struct xs_sim_ranges *ranges, uint64_t va);

bool xs_sim_ranges_overlap(const struct xs_sim_ranges *ranges, uint64_t va, size_t bytes);

/* The lowest multiple of `align`, not below `base`, with `bytes` of room between the ranges. */
uint64_t xs_sim_ranges_gap(const struct xs_sim_ranges *ranges, uint64_t base, size_t bytes,
                           size_t align);

/* pre: overlaps nothing. False when memory has run out. */
bool xs_sim_ranges_insert(struct xs_sim_ranges *ranges, uint64_t va, size_t bytes, void *owner);

/* pre: `va` is the start of a range. */
void xs_sim_ranges_remove(struct xs_sim_ranges *ranges, uint64_t va);

#endif
