/*
 * Linear probing at a load of at most one half. Ids are dense in practice, so they are spread by a
 * multiplication (Fibonacci hashing): neighbours land far apart and a probe hits at once.
 */
#include "report/trace_ids.h"

#define FIRST_BITS 12

static size_t home_of(uint64_t key, unsigned bits)
{
    return (size_t)((key * 0x9e3779b97f4a7c15ull) >> (64 - bits));
}

static struct xs_trace_id *probe(struct xs_trace_id *table, unsigned bits, uint64_t key)
{
    size_t mask = ((size_t)1 << bits) - 1;
    size_t i = home_of(key, bits);
    while (table[i].key != 0 && table[i].key != key)
        i = (i + 1) & mask;
    return &table[i];
}

static bool grow(struct xs_trace_ids *ids)
{
    unsigned bits = ids->bits == 0 ? FIRST_BITS : ids->bits + 1;
    struct xs_array bigger = {0};
    if (!xs_array_reserve(&bigger, sizeof(struct xs_trace_id) << bits))
        return false;
    const struct xs_trace_id *old = ids->table.base;
    for (size_t i = 0; ids->bits != 0 && i < (size_t)1 << ids->bits; i++)
        if (old[i].key != 0)
            *probe(bigger.base, bits, old[i].key) = old[i];
    xs_array_drop(&ids->table);
    ids->table = bigger;
    ids->bits = bits;
    return true;
}

struct xs_trace_id *xs_trace_ids_at(struct xs_trace_ids *ids, uint64_t id)
{
    bool full = ids->bits == 0 || ids->count >= (size_t)1 << (ids->bits - 1);
    if (xs_unlikely(full) && !grow(ids))
        return NULL;
    struct xs_trace_id *entry = probe(ids->table.base, ids->bits, id + 1);
    if (entry->key == 0) {
        *entry = (struct xs_trace_id){.key = id + 1, .slot = XS_TRACE_ID_NEVER};
        ids->count++;
    }
    return entry;
}

void xs_trace_ids_drop(struct xs_trace_ids *ids)
{
    xs_array_drop(&ids->table);
    *ids = (struct xs_trace_ids){0};
}
