/*
 * Handle slots: objects of one kind at addresses that stay valid for ever, so that a dead handle
 * can be recognised without touching freed memory. The last slot given back is the next one taken,
 * as the real driver recycles handle values. The caller holds the simulator's lock.
 */
#ifndef XS_SIM_SIM_SLOTS_H
#define XS_SIM_SIM_SLOTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define XS_SIM_SLOTS_PER_CHUNK 1024
#define XS_SIM_SLOT_CHUNKS     4096

struct xs_sim_slot { /* the first member of every object */
    uint32_t index;
    uint32_t generation; /* counts the lives of the slot */
    bool live;
    struct xs_sim_slot *next_free;
};

struct xs_sim_slots {
    size_t stride; /* bytes of one object */
    size_t used;   /* slots ever taken */
    struct xs_sim_slot *free;
    char *chunks[XS_SIM_SLOT_CHUNKS];
};

/* A zeroed live object, or NULL when memory or slots have run out. */
void *xs_sim_slots_take(struct xs_sim_slots *slots);
void xs_sim_slots_give(struct xs_sim_slots *slots, void *object);

/* The object in slot `index` if that slot is live. */
void *xs_sim_slots_at(const struct xs_sim_slots *slots, size_t index);

/* `object` if it is the address of a live slot, else NULL. Any value may be passed. */
void *xs_sim_slots_check(const struct xs_sim_slots *slots, const void *object);

size_t xs_sim_slots_live(const struct xs_sim_slots *slots);

/* The body sees each live object as `type *name`; it may give it back. */
#define XS_SIM_SLOTS_FOR_EACH(type, name, slots)                                                   \
    for (size_t name##_i = 0; name##_i < (slots)->used; name##_i++)                                \
        for (type *name = xs_sim_slots_at((slots), name##_i); name; name = NULL)

#endif
