/*
 * History: the latest events of a device, in rings of fixed size. Each thread has a ring of its own, and what is
 * done under HEAP without a thread's cache goes to the device's; so recording takes no lock that is not held anyway.
 * A reader orders them by time, and drops what is older than the oldest event of any ring that has wrapped: the
 * rest is complete.
 *
 * A ring is written by its owner alone, under the owner's cache lock or under HEAP. It is read at any time: what is
 * overwritten meanwhile is noticed.
 */
#ifndef XS_STATS_HISTORY_H
#define XS_STATS_HISTORY_H

#include <stdatomic.h>

#include "base/list.h"

enum xs_event_kind {
    XS_EVENT_ALLOC,
    XS_EVENT_FREE,           /* and usable again in its stream's order */
    XS_EVENT_FREE_REQUESTED, /* freed, and other streams may still be using it */
    XS_EVENT_FREE_COMPLETED, /* they are not */
    XS_EVENT_MAP,            /* an extent at an address */
    XS_EVENT_UNMAP,
    XS_EVENT_SEGMENT_ALLOC, /* classic */
    XS_EVENT_SEGMENT_FREE,
    XS_EVENT_OUT_OF_MEMORY, /* va: bytes that the device had free */
    XS_EVENT_KINDS
};

struct xs_event {
    uint64_t time_ns; /* as xs_clock_ns() */
    uint64_t va;
    uint64_t bytes; /* requested, for allocations and frees */
    uint64_t stream;
    uint32_t thread;
    uint32_t tag;
    uint32_t stack;
    uint32_t pool; /* its number, below XS_EVENT_POOLS; 0: the default one */
    uint32_t kind; /* enum xs_event_kind */
};

#define XS_EVENT_POOLS (1u << 24)

#define XS_EVENT_WORDS 6

struct xs_ring {
    struct xs_list link; /* in the history's list */
    bool orphan; /* nobody writes it; the next new thread goes on in it if it has the right size */
    uint64_t mask;
    _Atomic uint64_t written; /* events so far */
    _Atomic uint64_t word[][XS_EVENT_WORDS];
};

/* Of one device. Guarded by HEAP. */
struct xs_history {
    size_t events; /* of a ring; 0: off */
    unsigned readers;
    struct xs_ring *device_ring;
    struct xs_list rings;
};

void xs_history_init(struct xs_history *history);
/* Nobody has a ring any more. */
void xs_history_destroy(struct xs_history *history);
/* Rings that are made from now on have this many events, rounded up to a power of two; 0: none are. Rings of ended
 * threads go. Where there is no host memory history stays off. */
void xs_history_resize(struct xs_history *history, size_t events);

/* A ring for the calling thread; NULL: history is off, or there is no host memory. */
struct xs_ring *xs_history_join(struct xs_history *history);
/* The thread ends, or the size has changed: what it wrote stays, unless the size has changed. */
void xs_history_leave(struct xs_history *history, struct xs_ring *ring);

/* Out of line, so that a hit that is not recorded stays short. */
void xs_ring_add(struct xs_ring *ring, enum xs_event_kind kind, uint32_t pool, uint64_t va,
                 uint64_t bytes, const void *stream);

/* In the device's own ring. Under HEAP. */
static inline void xs_history_note(struct xs_history *history, enum xs_event_kind kind,
                                   uint32_t pool, uint64_t va, uint64_t bytes, const void *stream)
{
    if (xs_unlikely(history->device_ring != NULL))
        xs_ring_add(history->device_ring, kind, pool, va, bytes, stream);
}

/* While anybody reads rings without HEAP, none goes. */
void xs_history_begin_reading(struct xs_history *history);
void xs_history_end_reading(struct xs_history *history);

/* Of the events up to `end`, which it had written at some time, the latest that are still there, oldest first; `out`
 * has room for a ring's. Returns how many. *wrapped: older ones are lost. */
size_t xs_ring_read(const struct xs_ring *ring, uint64_t end, struct xs_event *out, bool *wrapped);

#endif
