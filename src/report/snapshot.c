#include "report/snapshot.h"

#include <stdlib.h>
#include <string.h>

enum { SEGMENTS, BLOCKS, EXTENTS, EVENTS, STACKS, FRAMES };

/* X(array, field, count) */
#define ARRAYS(X)                                                                                  \
    X(SEGMENTS, segments, n_segments)                                                              \
    X(BLOCKS, blocks, n_blocks)                                                                    \
    X(EXTENTS, extents, n_extents)                                                                 \
    X(EVENTS, events, n_events)                                                                    \
    X(STACKS, stacks, n_stacks)                                                                    \
    X(FRAMES, frames, n_frames)

/* Memory beyond the count may have been used before. */
#define X(array, field, count)                                                                     \
    static bool reserve_##field(struct xs_snapshot *s, size_t more)                                \
    {                                                                                              \
        if (!xs_array_reserve(&s->arrays[array], (s->count + more) * sizeof(*s->field)))           \
            return false;                                                                          \
        s->field = s->arrays[array].base;                                                          \
        return true;                                                                               \
    }
ARRAYS(X)
#undef X

#define ADD(type, what, field, count)                                                              \
    type *xs_snapshot_add_##what(struct xs_snapshot *s)                                            \
    {                                                                                              \
        if (!reserve_##field(s, 1))                                                                \
            return NULL;                                                                           \
        s->field[s->count] = (type){0};                                                            \
        return &s->field[s->count++];                                                              \
    }
ADD(struct xs_snap_segment, segment, segments, n_segments)
ADD(struct xs_snap_block, block, blocks, n_blocks)
ADD(struct xs_snap_extent, extent, extents, n_extents)
ADD(struct xs_event, event, events, n_events)
ADD(struct xs_snap_stack, stack, stacks, n_stacks)

struct xs_snap_frame *xs_snapshot_add_frame(struct xs_snapshot *s)
{
    if (!s->n_stacks || !reserve_frames(s, 1))
        return NULL;
    struct xs_snap_stack *stack = &s->stacks[s->n_stacks - 1];
    if (!stack->n_frames++)
        stack->first_frame = (uint32_t)s->n_frames;
    s->frames[s->n_frames] = (struct xs_snap_frame){0};
    return &s->frames[s->n_frames++];
}

bool xs_snapshot_reserve(struct xs_snapshot *s, size_t segments, size_t blocks, size_t extents)
{
    return reserve_segments(s, segments) && reserve_blocks(s, blocks) &&
           reserve_extents(s, extents);
}

static int by_va(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b; /* both records begin with it */
    return x < y ? -1 : x > y;
}

_Static_assert(offsetof(struct xs_snap_segment, va) == 0 && offsetof(struct xs_snap_block, va) == 0,
               "by_va reads them");

void xs_snapshot_sort(struct xs_snapshot *s)
{
    bool sorted = true;
    for (size_t i = 1; i < s->n_segments && sorted; i++)
        sorted = s->segments[i - 1].va < s->segments[i].va;
    if (sorted)
        return;
    qsort(s->segments, s->n_segments, sizeof(*s->segments), by_va);
    if (s->n_blocks)
        qsort(s->blocks, s->n_blocks, sizeof(*s->blocks), by_va);
    size_t first = 0;
    for (size_t i = 0; i < s->n_segments; i++) {
        s->segments[i].first_block = first;
        first += s->segments[i].n_blocks;
    }
}

struct xs_snap_block *xs_snapshot_block_at(struct xs_snapshot *s, uint64_t va)
{
    size_t from = 0, to = s->n_blocks;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        if (s->blocks[middle].va <= va)
            from = middle + 1;
        else
            to = middle;
    }
    return from && s->blocks[from - 1].va == va ? &s->blocks[from - 1] : NULL;
}

/* From the latest event on: the first one that a block meets is the one that made it what it is. */
void xs_snapshot_find_stacks(struct xs_snapshot *s)
{
    for (size_t i = s->n_events; i-- > 0;) {
        const struct xs_event *e = &s->events[i];
        if (e->kind != XS_EVENT_ALLOC || !e->stack)
            continue;
        struct xs_snap_block *block = xs_snapshot_block_at(s, e->va);
        if (block && block->state <= XS_SNAP_WAITING && !block->stack)
            block->stack = e->stack;
    }
}

void xs_snapshot_drop(struct xs_snapshot *s)
{
    for (unsigned i = 0; i < XS_COUNT_OF(s->arrays); i++)
        xs_array_drop(&s->arrays[i]);
    xs_names_drop(&s->names);
    memset(s, 0, sizeof(*s));
}
