/*
 * What the library keeps for each thread: one record, made at first use and taken back when the
 * thread ends. Only a pointer lives in thread-local storage, so that the library can be loaded late.
 */
#ifndef XS_BASE_THREAD_H
#define XS_BASE_THREAD_H

#include "base/base.h"
#include "base/error.h"

/* Room for higher floors; each owns one slot. */
enum xs_thread_slot { XS_THREAD_SLOT_DRIVER_ERROR, XS_THREAD_SLOT_TAGS, XS_THREAD_SLOT_COUNT };

#define XS_DEVICE_LIMIT 64

struct xs_thread {
    unsigned held_ranks;                     /* bit set of enum xs_rank; debug builds only */
    uint64_t id;                             /* unique, never reused; 1, 2, ... */
    uint32_t tag;                            /* what the thread is doing: see stats/tag.h */
    uint32_t stack;                          /* of the call under way, where stacks are recorded */
    struct xs_cache *cache[XS_DEVICE_LIMIT]; /* the thread's block caches, by device ordinal */
    char error_text[XS_ERROR_TEXT_BYTES];
    struct {
        void *data;
        size_t bytes;
    } slot[XS_THREAD_SLOT_COUNT];
};

/* The calling thread's record, or NULL before its first use; for paths that count instructions. */
extern __thread struct xs_thread *xs_thread_current __attribute__((visibility("hidden")));

/* NULL only where the host has no memory left. */
struct xs_thread *xs_thread_self(void);

/* Called with the record of each thread that ends from now on, before the record goes. */
void xs_thread_on_exit(void (*hook)(struct xs_thread *t));

/* The slot's memory, zeroed at first use; NULL where the host has no memory left. */
void *xs_thread_slot(struct xs_thread *t, enum xs_thread_slot slot, size_t bytes);

#endif
