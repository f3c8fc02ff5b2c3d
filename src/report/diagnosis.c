#include "report/diagnosis.h"

#include <stdlib.h>
#include <string.h>

/* What a process needs besides: its context. Others that hold no more than this are not to blame. */
#define CONTEXT_BYTES XS_GIB

/* A share of live bytes that counts as most of them. */
#define MOSTLY_PERCENT 60

/* ---- sums ------------------------------------------------------------------------------------- */

static void sum_up(struct xs_diagnosis *d)
{
    const struct xs_snapshot *s = d->snapshot;
    uint64_t mapped = 0;
    for (size_t i = 0; i < s->n_blocks; i++) {
        const struct xs_snap_block *b = &s->blocks[i];
        mapped += b->bytes;
        d->live += b->state == XS_SNAP_LIVE ? b->bytes : 0;
        bool waits = b->state == XS_SNAP_WAITING || (b->state == XS_SNAP_FREE && !b->passed);
        d->waiting += waits ? b->bytes : 0;
    }
    d->reserved = s->is_ours ? s->stats.reserved_bytes.current : mapped;
    d->cached = d->reserved - xs_min(d->reserved, d->live + d->waiting);
}

static uint64_t device_room(const struct xs_diagnosis *d)
{
    const struct xseg_stats *s = &d->snapshot->stats;
    if (s->device_free_bytes == UINT64_MAX)
        return s->device_total_bytes ? s->device_total_bytes : UINT64_MAX;
    return d->reserved + s->device_free_bytes;
}

static uint64_t limit_of(const struct xs_diagnosis *d)
{
    uint64_t limit = d->snapshot->stats.limit_bytes;
    return limit ? limit : UINT64_MAX;
}

/* ---- extents ---------------------------------------------------------------------------------- */

static int by_free_bytes(const void *a, const void *b)
{
    const struct xs_pin *x = a, *y = b;
    return x->free_bytes > y->free_bytes ? -1 : x->free_bytes < y->free_bytes;
}

static void keep_pin(struct xs_diagnosis *d, const struct xs_pin *pin)
{
    d->all_pins++;
    d->recoverable += pin->free_bytes;
    if (d->n_pins < XS_PINS_MAX)
        d->pins[d->n_pins++] = *pin;
    else if (pin->free_bytes > d->pins[XS_PINS_MAX - 1].free_bytes)
        d->pins[XS_PINS_MAX - 1] = *pin;
    qsort(d->pins, d->n_pins, sizeof(*d->pins), by_free_bytes);
}

static bool is_held(const struct xs_snap_block *b)
{
    return b->state <= XS_SNAP_WAITING;
}

/* What lives in [va, va + bytes), from the block on that is at or before it. */
static void look_into(struct xs_diagnosis *d, const struct xs_snap_extent *e, size_t *from)
{
    const struct xs_snapshot *s = d->snapshot;
    struct xs_pin pin = {.extent = *e};
    uint64_t end = e->va + e->bytes;
    while (*from < s->n_blocks && s->blocks[*from].va + s->blocks[*from].bytes <= e->va)
        ++*from;
    for (size_t i = *from; i < s->n_blocks && s->blocks[i].va < end; i++) {
        const struct xs_snap_block *b = &s->blocks[i];
        uint64_t inside = xs_min(end, b->va + b->bytes) - xs_max(e->va, b->va);
        if (!is_held(b)) {
            pin.free_bytes += inside;
        } else {
            pin.n_blocks++;
            if (b->bytes > pin.block.bytes)
                pin.block = *b;
        }
    }
    if (pin.n_blocks && pin.free_bytes)
        keep_pin(d, &pin);
}

/* A segment that goes back only as a whole is like one extent. */
static void find_pins(struct xs_diagnosis *d)
{
    const struct xs_snapshot *s = d->snapshot;
    size_t from = 0;
    for (size_t i = 0; i < s->n_extents; i++)
        if (s->extents[i].va)
            look_into(d, &s->extents[i], &from);
    from = 0;
    for (size_t i = 0; i < s->n_segments; i++) {
        const struct xs_snap_segment *segment = &s->segments[i];
        const struct xs_snap_extent all = {segment->va, segment->bytes};
        if (!segment->is_expandable || !s->n_extents)
            look_into(d, &all, &from);
    }
}

/* Whole granules in free stretches: what the smallest extents could give elsewhere. */
static void find_granules(struct xs_diagnosis *d)
{
    const struct xs_snapshot *s = d->snapshot;
    const uint64_t granule = 2 * XS_MIB;
    uint64_t from = 0, to = 0, whole = 0, free_bytes = 0;
    for (size_t i = 0; i <= s->n_blocks; i++) {
        const struct xs_snap_block *b = i < s->n_blocks ? &s->blocks[i] : NULL;
        if (b && !is_held(b) && b->va == to) {
            to += b->bytes;
            continue;
        }
        uint64_t first = (from + granule - 1) / granule * granule, last = to / granule * granule;
        whole += last > first ? last - first : 0;
        free_bytes += to - from;
        from = to = b && !is_held(b) ? b->va : b ? b->va + b->bytes : 0;
        if (b && !is_held(b))
            to += b->bytes;
    }
    uint64_t stays = free_bytes - whole;
    d->recoverable_by_granules = d->recoverable > stays ? d->recoverable - stays : 0;
    d->usable_by_granules = whole + s->stats.frag_idle_bytes;
    if (d->capacity != UINT64_MAX && d->capacity > d->reserved)
        d->usable_by_granules += d->capacity - d->reserved;
}

static int by_number(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* How many of n numbers are different. Sorts them. */
static size_t count_different(uint64_t *number, size_t n)
{
    size_t different = 0;
    qsort(number, n, sizeof(*number), by_number);
    for (size_t i = 0; i < n; i++)
        different += i == 0 || number[i] != number[i - 1];
    return different;
}

static void count_sizes(struct xs_diagnosis *d)
{
    const struct xs_snapshot *s = d->snapshot;
    struct xs_array memory = {0};
    if (!s->n_blocks || !xs_array_reserve(&memory, s->n_blocks * sizeof(uint64_t)))
        return;
    uint64_t *size = memory.base;
    for (size_t i = 0; i < s->n_blocks; i++)
        size[i] = s->blocks[i].bytes;
    d->n_sizes = count_different(size, s->n_blocks);
    xs_array_drop(&memory);
}

/* ---- pools ------------------------------------------------------------------------------------ */

static uint64_t free_in(const struct xs_snapshot *s, const struct xs_snap_segment *segment)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < segment->n_blocks; i++) {
        const struct xs_snap_block *b = &s->blocks[segment->first_block + i];
        bytes += is_held(b) ? 0 : b->bytes;
    }
    return bytes;
}

static void find_pools(struct xs_diagnosis *d)
{
    const struct xs_snapshot *s = d->snapshot;
    struct xs_array memory = {0};
    if (!s->n_segments || !xs_array_reserve(&memory, s->n_segments * sizeof(uint64_t)))
        return;
    uint64_t *pool = memory.base;
    size_t n = 0;
    for (size_t i = 0; i < s->n_segments; i++) {
        const struct xs_snap_segment *segment = &s->segments[i];
        bool others = segment->is_held && segment->pool != d->refusal.pool;
        uint64_t bytes = others ? free_in(s, segment) : 0;
        d->held_free += bytes;
        if (bytes)
            pool[n++] = segment->pool;
    }
    d->held_pools = count_different(pool, n);
    xs_array_drop(&memory);
}

/* Segments are in the order of their blocks. */
static bool is_in_held_pool(const struct xs_snapshot *s, size_t block, size_t *from)
{
    while (*from < s->n_segments &&
           block >= s->segments[*from].first_block + s->segments[*from].n_blocks)
        ++*from;
    return *from < s->n_segments && block >= s->segments[*from].first_block &&
           s->segments[*from].is_held;
}

static uint64_t largest_free_block(const struct xs_snapshot *s)
{
    uint64_t largest = 0;
    size_t segment = 0;
    for (size_t i = 0; i < s->n_blocks; i++)
        if (!is_held(&s->blocks[i]) && !is_in_held_pool(s, i, &segment))
            largest = xs_max(largest, s->blocks[i].bytes);
    return largest;
}

/* ---- the verdict ------------------------------------------------------------------------------ */

/* There is not enough, however it lies: who has it? */
static enum xs_verdict judge_shortage(const struct xs_diagnosis *d)
{
    const struct xseg_stats *s = &d->snapshot->stats;
    uint64_t needed = d->live + d->refusal.bytes;
    if (needed <= device_room(d))
        return XS_VERDICT_LIMIT;
    bool others_known = s->other_bytes != UINT64_MAX && s->device_total_bytes;
    if (others_known && s->other_bytes > CONTEXT_BYTES && needed <= limit_of(d) &&
        needed + CONTEXT_BYTES <= s->device_total_bytes)
        return XS_VERDICT_OTHERS;
    return needed > limit_of(d) && needed <= s->device_total_bytes ? XS_VERDICT_LIMIT
                                                                   : XS_VERDICT_FULL;
}

static enum xs_verdict judge(const struct xs_diagnosis *d)
{
    const struct xs_refusal *r = &d->refusal;
    if (!r->bytes)
        return XS_VERDICT_NONE;
    if (r->call && !r->is_out_of_memory)
        return XS_VERDICT_DRIVER;
    if (d->capacity != UINT64_MAX && d->live + r->bytes > d->capacity)
        return judge_shortage(d);
    if (d->waiting && d->live + d->waiting + r->bytes > d->capacity)
        return XS_VERDICT_WAITING;
    if (d->held_free && d->live + d->waiting + d->held_free + r->bytes > d->capacity)
        return XS_VERDICT_POOLS;
    if (d->snapshot->is_ours && r->bytes <= d->snapshot->stats.largest_obtainable_bytes)
        return d->waiting ? XS_VERDICT_WAITING : XS_VERDICT_DRIVER;
    return XS_VERDICT_FRAGMENTATION;
}

/* ---- advice ----------------------------------------------------------------------------------- */

static bool is_mostly(uint64_t part, uint64_t whole)
{
    return whole && part >= whole / 100 * MOSTLY_PERCENT;
}

static void advise_less(struct xs_diagnosis *d)
{
    const struct xs_lifetimes *l = &d->lifetimes;
    uint64_t all = l->persistent + l->transient;
    if (!l->known)
        return;
    d->advice[XS_ADVICE_PERSISTENT] = !is_mostly(l->transient, all);
    d->advice[XS_ADVICE_TRANSIENT] = !is_mostly(l->persistent, all);
}

/* Only a key that is not set so already, and only where it would free what is missing. */
static void advise_keys(struct xs_diagnosis *d)
{
    const struct xs_snapshot *s = d->snapshot;
    bool helps = d->recoverable_by_granules && d->usable_by_granules >= d->refusal.bytes;
    bool expandable = strstr(s->settings, "expandable_segments:True") != NULL;
    d->advice[XS_ADVICE_EXPANDABLE] = !expandable && helps;
    d->advice[XS_ADVICE_SMALL_EXTENTS] =
        expandable && helps && s->is_ours && !strstr(s->settings, "extent_max:2M,");
    d->advice[XS_ADVICE_BUCKETS] =
        d->n_sizes > 64 && strstr(s->settings, "roundup_power2_divisions:off") != NULL;
}

/* Only where what the pools hold would be enough together with what fits now. */
static void advise_pools(struct xs_diagnosis *d)
{
    d->advice[XS_ADVICE_POOLS] = d->held_free && d->largest + d->held_free >= d->refusal.bytes;
}

static void advise(struct xs_diagnosis *d)
{
    switch (d->verdict) {
    case XS_VERDICT_NONE:
        return;
    case XS_VERDICT_LIMIT:
        d->advice[XS_ADVICE_LIMIT] = d->live + d->refusal.bytes <= device_room(d);
        advise_less(d);
        return;
    case XS_VERDICT_OTHERS:
        d->advice[XS_ADVICE_OTHERS] = true;
        return;
    case XS_VERDICT_FULL:
        advise_less(d);
        return;
    case XS_VERDICT_FRAGMENTATION:
        advise_keys(d);
        advise_pools(d);
        return;
    case XS_VERDICT_POOLS:
        advise_pools(d);
        return;
    case XS_VERDICT_WAITING:
        d->advice[XS_ADVICE_SYNCHRONISE] = true;
        return;
    case XS_VERDICT_DRIVER:
        d->advice[XS_ADVICE_DRIVER] = true;
    }
}

/* The latest one. Where more has happened since, the state is no longer the one that it met. */
static void find_refusal(struct xs_diagnosis *d)
{
    const struct xs_snapshot *s = d->snapshot;
    size_t n = s->n_events;
    while (n && s->events[n - 1].kind != XS_EVENT_OUT_OF_MEMORY)
        n--;
    if (!n)
        return;
    const struct xs_event *e = &s->events[n - 1];
    if (n < s->n_events)
        d->earlier = e;
    else
        d->refusal = (struct xs_refusal){
            .requested = e->bytes, .bytes = e->bytes, .tag = xs_snapshot_name(s, e->tag)};
}

void xs_diagnose(struct xs_diagnosis *d, const struct xs_snapshot *s,
                 const struct xs_refusal *refusal)
{
    const struct xs_refusal given = refusal ? *refusal : (struct xs_refusal){0};
    *d = (struct xs_diagnosis){.snapshot = s, .refusal = given}; /* it may have been there */
    if (!refusal)
        find_refusal(d);
    sum_up(d);
    d->capacity = xs_min(device_room(d), limit_of(d));
    if (d->capacity == UINT64_MAX && !s->is_ours)
        d->capacity = d->reserved; /* nothing says that there is more */
    d->largest =
        s->is_ours ? s->stats.largest_obtainable_bytes
                   : xs_max(largest_free_block(s), d->capacity - xs_min(d->capacity, d->reserved));
    find_pins(d);
    find_granules(d);
    count_sizes(d);
    find_pools(d);
    xs_lifetimes_measure(&d->lifetimes, s);
    d->verdict = judge(d);
    advise(d);
}

bool xs_diagnosis_batch_one(const struct xs_diagnosis *d, double batch, uint64_t *bytes)
{
    if (!d->lifetimes.known || !(batch >= 1))
        return false;
    uint64_t transient = d->lifetimes.transient + d->refusal.bytes;
    *bytes = d->lifetimes.persistent + (uint64_t)((double)transient / batch);
    return true;
}
