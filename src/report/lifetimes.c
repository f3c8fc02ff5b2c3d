/*
 * Persistent and transient, measured. What a program keeps for long (parameters, optimizer state) was allocated before
 * some pause from which nothing is left alive, since all that was allocated in it has been freed again: the steps
 * until the present one. So the live blocks are put in the order of their births, and the longest gap parts them that
 * is at least as long as all that came after it. In the first step and the second it is not there yet, or parts the
 * parameters from the rest.
 */
#include <stdlib.h>

#include "report/diagnosis.h"

/* What lies after the gap must be this many blocks, or a quarter of all: one tensor is no step. */
#define SCRAP_BLOCKS 16

struct birth {
    uint64_t age_ms;
    uint64_t bytes;
};

static int youngest_first(const void *a, const void *b)
{
    const struct birth *x = a, *y = b;
    return x->age_ms < y->age_ms ? -1 : x->age_ms > y->age_ms;
}

static size_t gather(const struct xs_snapshot *s, struct birth *births, uint64_t *live)
{
    size_t n = 0;
    *live = 0;
    for (size_t i = 0; i < s->n_blocks; i++) {
        const struct xs_snap_block *b = &s->blocks[i];
        if (b->state > XS_SNAP_WAITING || b->age_ms == UINT64_MAX)
            continue;
        births[n++] = (struct birth){b->age_ms, b->bytes};
        *live += b->bytes;
    }
    qsort(births, n, sizeof(*births), youngest_first);
    return n;
}

static void find_border(struct xs_lifetimes *l, const struct birth *births, size_t n, uint64_t live)
{
    uint64_t young = 0, longest = 0;
    for (size_t i = 0; i + 1 < n; i++) {
        young += births[i].bytes;
        uint64_t gap = births[i + 1].age_ms - births[i].age_ms;
        bool is_scrap = i + 1 < xs_min(SCRAP_BLOCKS, n / 4);
        if (gap <= longest || gap < births[i].age_ms || is_scrap)
            continue;
        longest = gap;
        l->known = true;
        l->border_ms = births[i + 1].age_ms;
        l->transient = young;
        l->persistent = live - young;
    }
}

void xs_lifetimes_measure(struct xs_lifetimes *l, const struct xs_snapshot *s)
{
    struct xs_array memory = {0};
    uint64_t live;
    *l = (struct xs_lifetimes){0};
    if (!xs_array_reserve(&memory, (s->n_blocks + 1) * sizeof(struct birth)))
        return;
    size_t n = gather(s, memory.base, &live);
    find_border(l, memory.base, n, live);
    xs_array_drop(&memory);
}
