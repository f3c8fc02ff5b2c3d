/*
 * A lock that its owner thread takes for the price of two plain stores, and that any other thread can
 * still take, at the price of a system call.
 *
 * The owner says "busy" and then looks whether somebody wants the lock; another thread says "wanted",
 * makes every thread of the process run a memory barrier (membarrier), and then waits until the owner is
 * not busy. Whichever came first, one of the two sees the other. Where the kernel has no membarrier the
 * owner pays for a fence instead.
 *
 * The owner's part never blocks while nobody wants the lock. Others take turns.
 */
#ifndef XS_BASE_BIASED_LOCK_H
#define XS_BASE_BIASED_LOCK_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/base.h"

/* What stands in the owner's way. */
#define XS_BIASED_LOCK_WANTED 1u /* somebody wants the lock */
#define XS_BIASED_LOCK_FENCED                                                                      \
    2u /* always: there is no membarrier, so the owner needs a fence of its own */

struct xs_biased_lock {
    _Atomic uint32_t busy; /* written by the owner alone */
    _Atomic uint32_t heed; /* a set of the above; written under `turn` */
    pthread_mutex_t turn;
};

/* The first init's share that takes the kernel milliseconds where threads run already. Does it once. */
void xs_biased_lock_prepare(void);
void xs_biased_lock_init(struct xs_biased_lock *lock);
void xs_biased_lock_destroy(struct xs_biased_lock *lock);

/* For any thread but the owner. */
void xs_biased_lock_acquire(struct xs_biased_lock *lock);
void xs_biased_lock_release(struct xs_biased_lock *lock);
/* To acquire several for the price of one: want each, one barrier, await each. */
void xs_biased_lock_want(struct xs_biased_lock *lock);
void xs_biased_lock_barrier(void);
void xs_biased_lock_await(struct xs_biased_lock *lock);

/* The owner has something to heed: waits until the lock is not wanted, then takes it. */
void xs_biased_lock_enter_slow(struct xs_biased_lock *lock);

static inline void xs_biased_lock_enter(struct xs_biased_lock *lock)
{
    atomic_store_explicit(&lock->busy, 1, memory_order_relaxed);
    atomic_signal_fence(memory_order_seq_cst); /* membarrier on the other side does the rest */
    if (xs_unlikely(atomic_load(&lock->heed)))
        xs_biased_lock_enter_slow(lock);
}

static inline void xs_biased_lock_leave(struct xs_biased_lock *lock)
{
    atomic_store_explicit(&lock->busy, 0, memory_order_release);
}

#endif
