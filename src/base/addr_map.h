/*
 * From address to record, for every device at once: a chained hash whose nodes live in the records.
 *
 * Lookups take no lock. They may run beside an insert, a removal or a resize; a lookup that finds
 * nothing looks once more under the lock, so an address that is in the map is always found. Records
 * must stay readable for ever after (slabs are never unmapped while the map is in use).
 */
#ifndef XS_BASE_ADDR_MAP_H
#define XS_BASE_ADDR_MAP_H

#include <stdatomic.h>

#include "base/base.h"
#include "base/lock.h"

struct xs_addr_node {
    _Atomic(struct xs_addr_node *) next;
    _Atomic uint64_t va;
};

struct xs_addr_map {
    struct xs_lock lock; /* rank ADDRESS; guards writers and everything but `table` */
    _Atomic(struct xs_addr_table *) table;
    size_t count;
};

/* False: no host memory. */
bool xs_addr_map_init(struct xs_addr_map *map);
void xs_addr_map_destroy(struct xs_addr_map *map);
/* The address must not be in the map. Never fails: a table that cannot grow gets longer chains. */
void xs_addr_map_insert(struct xs_addr_map *map, struct xs_addr_node *node, uint64_t va);
void xs_addr_map_remove(struct xs_addr_map *map, struct xs_addr_node *node);
struct xs_addr_node *xs_addr_map_find(struct xs_addr_map *map, uint64_t va);

#endif
