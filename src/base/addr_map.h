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

/* False: no host memory. */
bool xs_addr_map_init(struct xs_addr_map *map);
void xs_addr_map_destroy(struct xs_addr_map *map);
/* The address must not be in the map. Never fails: a table that cannot grow gets longer chains. */
void xs_addr_map_insert(struct xs_addr_map *map, struct xs_addr_node *node, uint64_t va);
void xs_addr_map_remove(struct xs_addr_map *map, struct xs_addr_node *node);
/* Without the lock: NULL may be wrong. */
struct xs_addr_node *xs_addr_map_find(const struct xs_addr_map *map, uint64_t va);
/* Under the lock. */
struct xs_addr_node *xs_addr_map_find_locked(const struct xs_addr_map *map, uint64_t va);

#endif
