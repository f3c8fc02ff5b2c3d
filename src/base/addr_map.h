/*
 * From address to record: a chained hash whose nodes live in the records.
 *
 * Writers hold one lock of their own choice. Lookups take none. They may run beside an insert, a removal or
 * a resize, and may then miss what is there: who must be sure looks once more under the lock. Records
 * must stay readable for ever after (slabs are never unmapped while the map is in use).
 */
#ifndef XS_BASE_ADDR_MAP_H
#define XS_BASE_ADDR_MAP_H

#include <stdatomic.h>

#include "base/base.h"

struct xs_addr_node {
    _Atomic(struct xs_addr_node *) next;
    _Atomic uint64_t va;
};

struct xs_addr_map {
    _Atomic(struct xs_addr_table *) table;
    size_t count;
};

struct xs_addr_table {
    struct xs_addr_table *smaller; /* the one before: kept, since lookups may still be in it */
    size_t bytes;
    size_t buckets;
    unsigned shift; /* the hash's top bits count */
    _Atomic(struct xs_addr_node *) bucket[];
};

/* Blocks are 512-byte aligned: the low bits carry nothing. */
static inline size_t xs_addr_bucket(const struct xs_addr_table *table, uint64_t va)
{
    return (va >> 9) * 0x9E3779B97F4A7C15u >> table->shift;
}

/* False: no host memory. */
bool xs_addr_map_init(struct xs_addr_map *map);
void xs_addr_map_destroy(struct xs_addr_map *map);
/* The address must not be in the map. Never fails: a table that cannot grow gets longer chains. */
void xs_addr_map_insert(struct xs_addr_map *map, struct xs_addr_node *node, uint64_t va);
void xs_addr_map_remove(struct xs_addr_map *map, struct xs_addr_node *node);
/* A walk beside a writer can hop onto another chain; past so many steps it gives up. */
#define XS_ADDR_STEPS 64

/* Without the lock: NULL may be wrong. va is not 0, which is what a removed node carries. */
static inline struct xs_addr_node *xs_addr_map_find(const struct xs_addr_map *map, uint64_t va)
{
    const struct xs_addr_table *table = atomic_load_explicit(&map->table, memory_order_acquire);
    struct xs_addr_node *node =
        atomic_load_explicit(&table->bucket[xs_addr_bucket(table, va)], memory_order_acquire);
    for (unsigned step = 0; node && step < XS_ADDR_STEPS; step++) {
        if (xs_likely(atomic_load_explicit(&node->va, memory_order_relaxed) == va))
            return node;
        node = atomic_load_explicit(&node->next, memory_order_acquire);
    }
    return NULL;
}
/* Under the lock. */
struct xs_addr_node *xs_addr_map_find_locked(const struct xs_addr_map *map, uint64_t va);

#endif
