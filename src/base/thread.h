/*
 * What the library keeps for each thread: one record, made at first use and taken back when the
 * thread ends. Only a pointer lives in thread-local storage, so that the library can be loaded late.
 */
#ifndef XS_BASE_THREAD_H
#define XS_BASE_THREAD_H

#include "base/base.h"
#include "base/error.h"

/* Room for higher floors; each owns one slot. */
enum xs_thread_slot { XS_THREAD_SLOT_DRIVER_ERROR, XS_THREAD_SLOT_CACHE, XS_THREAD_SLOT_COUNT };

struct xs_thread {
    unsigned held_ranks; /* bit set of enum xs_rank; debug builds only */
    uint64_t id;         /* unique, never reused; 1, 2, ... */
    char error_text[XS_ERROR_TEXT_BYTES];
    struct {
        void *data;
        size_t bytes;
    } slot[XS_THREAD_SLOT_COUNT];
};

/* NULL only where the host has no memory left. */
struct xs_thread *xs_thread_self(void);

/* The slot's memory, zeroed at first use; NULL where the host has no memory left. */
void *xs_thread_slot(struct xs_thread *t, enum xs_thread_slot slot, size_t bytes);

#endif
