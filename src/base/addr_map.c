#include "base/addr_map.h"

#include "base/meta.h"

#define FIRST_BUCKETS ((size_t)1 << 12)

static struct xs_addr_table *make_table(size_t buckets, struct xs_addr_table *smaller)
{
    size_t bytes = sizeof(struct xs_addr_table) + buckets * sizeof(void *);
    struct xs_addr_table *table = xs_meta_map(bytes);
    if (!table)
        return NULL;
    table->smaller = smaller;
    table->bytes = bytes;
    table->buckets = buckets;
    table->shift = 64 - xs_log2(buckets);
    return table;
}

static _Atomic(struct xs_addr_node *) *bucket_of(struct xs_addr_table *table, uint64_t va)
{
    return &table->bucket[xs_addr_bucket(table, va)];
}

bool xs_addr_map_init(struct xs_addr_map *map)
{
    map->count = 0;
    struct xs_addr_table *table = make_table(FIRST_BUCKETS, NULL);
    atomic_store(&map->table, table);
    return table != NULL;
}

void xs_addr_map_destroy(struct xs_addr_map *map)
{
    struct xs_addr_table *table = atomic_exchange(&map->table, NULL);
    while (table) {
        struct xs_addr_table *smaller = table->smaller;
        xs_meta_unmap(table, table->bytes);
        table = smaller;
    }
}

static void link_node(struct xs_addr_table *table, struct xs_addr_node *node, uint64_t va)
{
    _Atomic(struct xs_addr_node *) *bucket = bucket_of(table, va);
    atomic_store_explicit(&node->va, va, memory_order_relaxed);
    atomic_store_explicit(&node->next, atomic_load_explicit(bucket, memory_order_relaxed),
                          memory_order_release);
    atomic_store_explicit(bucket, node, memory_order_release);
}

static __attribute__((noinline, cold)) struct xs_addr_table *grow(struct xs_addr_map *map,
                                                                  struct xs_addr_table *old)
{
    struct xs_addr_table *table = make_table(2 * old->buckets, old);
    if (!table)
        return old;
    for (size_t i = 0; i < old->buckets; i++) {
        struct xs_addr_node *node = atomic_load_explicit(&old->bucket[i], memory_order_relaxed);
        while (node) {
            struct xs_addr_node *next = atomic_load_explicit(&node->next, memory_order_relaxed);
            link_node(table, node, atomic_load_explicit(&node->va, memory_order_relaxed));
            node = next;
        }
    }
    atomic_store_explicit(&map->table, table, memory_order_release);
    return table;
}

void xs_addr_map_insert(struct xs_addr_map *map, struct xs_addr_node *node, uint64_t va)
{
    struct xs_addr_table *table = atomic_load_explicit(&map->table, memory_order_relaxed);
    if (xs_unlikely(++map->count > table->buckets))
        table = grow(map, table);
    link_node(table, node, va);
}

void xs_addr_map_remove(struct xs_addr_map *map, struct xs_addr_node *node)
{
    struct xs_addr_table *table = atomic_load_explicit(&map->table, memory_order_relaxed);
    uint64_t va = atomic_load_explicit(&node->va, memory_order_relaxed);
    _Atomic(struct xs_addr_node *) *link = bucket_of(table, va);
    while (atomic_load_explicit(link, memory_order_relaxed) != node)
        link = &atomic_load_explicit(link, memory_order_relaxed)->next;
    atomic_store_explicit(link, atomic_load_explicit(&node->next, memory_order_relaxed),
                          memory_order_release);
    atomic_store_explicit(&node->va, 0, memory_order_relaxed);
    map->count--;
}

struct xs_addr_node *xs_addr_map_find_locked(const struct xs_addr_map *map, uint64_t va)
{
    struct xs_addr_table *table = atomic_load_explicit(&map->table, memory_order_relaxed);
    struct xs_addr_node *node = atomic_load_explicit(bucket_of(table, va), memory_order_relaxed);
    while (node && atomic_load_explicit(&node->va, memory_order_relaxed) != va)
        node = atomic_load_explicit(&node->next, memory_order_relaxed);
    return node;
}
