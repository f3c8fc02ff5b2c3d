#include "sim/sim_ranges.h"

#include <stdlib.h>
#include <string.h>

/* How many ranges start at or below `va`. */
static size_t count_below(const struct xs_sim_ranges *ranges, uint64_t va)
{
    size_t low = 0, high = ranges->count;
    while (low < high) {
        const size_t mid = (low + high) / 2;
        if (ranges->at[mid].va <= va)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

struct xs_sim_range *xs_sim_ranges_find(const struct xs_sim_ranges *ranges, uint64_t va)
{
    const size_t n = count_below(ranges, va);
    if (n == 0)
        return NULL;
    struct xs_sim_range *range = &ranges->at[n - 1];
    return va - range->va < range->bytes ? range : NULL;
}

bool xs_sim_ranges_overlap(const struct xs_sim_ranges *ranges, uint64_t va, size_t bytes)
{
    if (xs_sim_ranges_find(ranges, va))
        return true;
    const size_t n = count_below(ranges, va);
    return n < ranges->count && ranges->at[n].va - va < bytes;
}

uint64_t xs_sim_ranges_gap(const struct xs_sim_ranges *ranges, uint64_t base, size_t bytes,
                           size_t align)
{
    uint64_t va = (base + align - 1) / align * align;
    const size_t below = count_below(ranges, base);
    for (size_t i = below ? below - 1 : 0; i < ranges->count; i++) {
        const struct xs_sim_range *range = &ranges->at[i];
        if (range->va + range->bytes <= va)
            continue;
        if (range->va >= va && range->va - va >= bytes)
            break;
        va = (range->va + range->bytes + align - 1) / align * align;
    }
    return va;
}

static bool make_room(struct xs_sim_ranges *ranges)
{
    if (ranges->count < ranges->room)
        return true;
    const size_t room = ranges->room ? ranges->room * 2 : 64;
    struct xs_sim_range *at = realloc(ranges->at, room * sizeof(*at));
    if (!at)
        return false;
    ranges->at = at;
    ranges->room = room;
    return true;
}

bool xs_sim_ranges_insert(struct xs_sim_ranges *ranges, uint64_t va, size_t bytes, void *owner)
{
    if (!make_room(ranges))
        return false;
    const size_t i = count_below(ranges, va);
    memmove(&ranges->at[i + 1], &ranges->at[i], (ranges->count - i) * sizeof(*ranges->at));
    ranges->at[i] = (struct xs_sim_range){va, bytes, owner};
    ranges->count++;
    return true;
}

void xs_sim_ranges_remove(struct xs_sim_ranges *ranges, uint64_t va)
{
    const size_t i = count_below(ranges, va) - 1;
    ranges->count--;
    memmove(&ranges->at[i], &ranges->at[i + 1], (ranges->count - i) * sizeof(*ranges->at));
}
