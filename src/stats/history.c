#include "stats/history.h"

#include "base/clock.h"
#include "base/meta.h"
#include "base/thread.h"

static size_t ring_bytes(size_t events)
{
    return sizeof(struct xs_ring) + events * sizeof(uint64_t[XS_EVENT_WORDS]);
}

static struct xs_ring *new_ring(struct xs_history *history)
{
    struct xs_ring *ring = xs_meta_map(ring_bytes(history->events));
    if (!ring)
        return NULL;
    ring->mask = history->events - 1;
    xs_list_push_back(&history->rings, &ring->link);
    return ring;
}

static void delete_ring(struct xs_ring *ring)
{
    xs_list_remove(&ring->link);
    xs_meta_unmap(ring, ring_bytes(ring->mask + 1));
}

void xs_history_init(struct xs_history *history)
{
    *history = (struct xs_history){0};
    xs_list_init(&history->rings);
}

void xs_history_destroy(struct xs_history *history)
{
    XS_LIST_FOR_EACH_SAFE(link, &history->rings)
        delete_ring(XS_CONTAINER_OF(link, struct xs_ring, link));
    history->device_ring = NULL;
}

/* Rings that nobody will write again. */
static void drop_useless(struct xs_history *history)
{
    if (history->readers)
        return;
    XS_LIST_FOR_EACH_SAFE(link, &history->rings) {
        struct xs_ring *ring = XS_CONTAINER_OF(link, struct xs_ring, link);
        if (ring->orphan && ring->mask + 1 != history->events)
            delete_ring(ring);
    }
}

void xs_history_resize(struct xs_history *history, size_t events)
{
    events = events ? xs_pow2_ceil(events) : 0;
    if (events == history->events)
        return;
    if (history->device_ring)
        history->device_ring->orphan = true;
    history->events = events;
    drop_useless(history);
    history->device_ring = events ? new_ring(history) : NULL;
    if (!history->device_ring)
        history->events = 0;
}

struct xs_ring *xs_history_join(struct xs_history *history)
{
    if (!history->events)
        return NULL;
    XS_LIST_FOR_EACH(link, &history->rings) {
        struct xs_ring *ring = XS_CONTAINER_OF(link, struct xs_ring, link);
        if (!ring->orphan || ring->mask + 1 != history->events)
            continue;
        ring->orphan = false;
        return ring;
    }
    return new_ring(history);
}

void xs_history_leave(struct xs_history *history, struct xs_ring *ring)
{
    ring->orphan = true;
    drop_useless(history);
}

void xs_history_begin_reading(struct xs_history *history)
{
    history->readers++;
}

void xs_history_end_reading(struct xs_history *history)
{
    history->readers--;
    drop_useless(history);
}

static void put(_Atomic uint64_t *word, uint64_t value)
{
    atomic_store_explicit(word, value, memory_order_relaxed);
}

#define KIND_BITS 8

_Static_assert(XS_EVENT_KINDS < 1 << KIND_BITS && XS_EVENT_POOLS == 1u << (32 - KIND_BITS),
               "both fit into half a word");

void xs_ring_add(struct xs_ring *ring, enum xs_event_kind kind, uint32_t pool, uint64_t va,
                 uint64_t bytes, const void *stream)
{
    const struct xs_thread *t = xs_thread_current;
    uint64_t n = atomic_load_explicit(&ring->written, memory_order_relaxed);
    _Atomic uint64_t *word = ring->word[n & ring->mask];
    uint64_t thread = t ? t->id : 0, tag = t ? t->tag : 0, stack = t ? t->stack : 0;
    /* First, so that a reader who sees a word of this event knows that the one before it is gone. */
    put(&ring->written, n + 1);
    atomic_thread_fence(memory_order_release);
    put(&word[0], xs_clock_ns());
    put(&word[1], va);
    put(&word[2], bytes);
    put(&word[3], (uintptr_t)stream);
    put(&word[4], thread << 32 | tag);
    put(&word[5], stack << 32 | (uint32_t)(pool << KIND_BITS) | kind);
}

static uint64_t get(const _Atomic uint64_t *word)
{
    return atomic_load_explicit(word, memory_order_relaxed);
}

static struct xs_event event_at(const struct xs_ring *ring, uint64_t n)
{
    const _Atomic uint64_t *word = ring->word[n & ring->mask];
    uint64_t who = get(&word[4]), what = get(&word[5]);
    return (struct xs_event){
        .time_ns = get(&word[0]),
        .va = get(&word[1]),
        .bytes = get(&word[2]),
        .stream = get(&word[3]),
        .thread = (uint32_t)(who >> 32),
        .tag = (uint32_t)who,
        .stack = (uint32_t)(what >> 32),
        .pool = (uint32_t)what >> KIND_BITS,
        .kind = (uint32_t)what & ((1u << KIND_BITS) - 1),
    };
}

/* Events up to `end` are whole, since whoever noted it held the lock that they were written under. Those that have
 * been overwritten while they were read are the oldest. */
size_t xs_ring_read(const struct xs_ring *ring, uint64_t end, struct xs_event *out, bool *wrapped)
{
    uint64_t capacity = ring->mask + 1, first = end > capacity ? end - capacity : 0;
    for (uint64_t n = first; n < end; n++)
        out[n - first] = event_at(ring, n);
    atomic_thread_fence(memory_order_acquire);
    uint64_t now = get(&ring->written), lost = now > capacity ? now - capacity : 0;
    *wrapped = lost > 0;
    if (lost <= first)
        return (size_t)(end - first);
    if (lost >= end)
        return 0;
    for (uint64_t n = lost; n < end; n++)
        out[n - lost] = out[n - first];
    return (size_t)(end - lost);
}
