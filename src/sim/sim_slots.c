#include "sim/sim_slots.h"

#include <stdlib.h>
#include <string.h>

static struct xs_sim_slot *slot_at(const struct xs_sim_slots *slots, size_t index)
{
    char *chunk = slots->chunks[index / XS_SIM_SLOTS_PER_CHUNK];
    return (struct xs_sim_slot *)(chunk + index % XS_SIM_SLOTS_PER_CHUNK * slots->stride);
}

static struct xs_sim_slot *fresh_slot(struct xs_sim_slots *slots)
{
    const size_t chunk = slots->used / XS_SIM_SLOTS_PER_CHUNK;
    if (chunk == XS_SIM_SLOT_CHUNKS)
        return NULL;
    if (!slots->chunks[chunk])
        slots->chunks[chunk] = calloc(XS_SIM_SLOTS_PER_CHUNK, slots->stride);
    if (!slots->chunks[chunk])
        return NULL;
    struct xs_sim_slot *slot = slot_at(slots, slots->used);
    slot->index = (uint32_t)slots->used++;
    return slot;
}

void *xs_sim_slots_take(struct xs_sim_slots *slots)
{
    struct xs_sim_slot *slot = slots->free;
    if (slot)
        slots->free = slot->next_free;
    else
        slot = fresh_slot(slots);
    if (!slot)
        return NULL;
    memset(slot + 1, 0, slots->stride - sizeof(*slot));
    slot->live = true;
    slot->generation++;
    return slot;
}

void xs_sim_slots_give(struct xs_sim_slots *slots, void *object)
{
    struct xs_sim_slot *slot = object;
    slot->live = false;
    slot->next_free = slots->free;
    slots->free = slot;
}

void *xs_sim_slots_at(const struct xs_sim_slots *slots, size_t index)
{
    if (index >= slots->used)
        return NULL;
    struct xs_sim_slot *slot = slot_at(slots, index);
    return slot->live ? slot : NULL;
}

void *xs_sim_slots_check(const struct xs_sim_slots *slots, const void *object)
{
    const uintptr_t at = (uintptr_t)object;
    for (size_t i = 0; i < XS_SIM_SLOT_CHUNKS && slots->chunks[i]; i++) {
        const uintptr_t off = at - (uintptr_t)slots->chunks[i];
        if (off >= XS_SIM_SLOTS_PER_CHUNK * slots->stride)
            continue;
        if (off % slots->stride != 0)
            return NULL;
        return xs_sim_slots_at(slots, i * XS_SIM_SLOTS_PER_CHUNK + off / slots->stride);
    }
    return NULL;
}

size_t xs_sim_slots_live(const struct xs_sim_slots *slots)
{
    size_t n = 0;
    for (size_t i = 0; i < slots->used; i++)
        n += xs_sim_slots_at(slots, i) != NULL;
    return n;
}
