/*
 * A mutex with a rank. Debug builds (XS_DEBUG >= 1) keep each thread's held ranks and abort, naming
 * both, when the order of lock_list.h is broken or an asserted lock is not held.
 */
#ifndef XS_BASE_LOCK_H
#define XS_BASE_LOCK_H

#include <pthread.h>

#include "base/base.h"
#include "base/lock_list.h"

enum xs_rank {
#define X(rank, driver, text) XS_RANK_##rank,
    XS_LOCK_LIST(X)
#undef X
        XS_RANK_COUNT
};

struct xs_lock {
    pthread_mutex_t mutex;
    enum xs_rank rank;
};

#define XS_LOCK_INITIALIZER(r)                                                                     \
    {                                                                                              \
        .mutex = PTHREAD_MUTEX_INITIALIZER, .rank = (r)                                            \
    }

void xs_lock_init(struct xs_lock *lock, enum xs_rank rank);
void xs_lock_destroy(struct xs_lock *lock);

/* Debug builds: abort if the order is broken, and note what is held. */
void xs_lock_check_acquire(const struct xs_lock *lock);
void xs_lock_check_release(const struct xs_lock *lock);
void xs_lock_check_held(const struct xs_lock *lock);

static inline void xs_lock_acquire(struct xs_lock *lock)
{
    if (xs_debug)
        xs_lock_check_acquire(lock);
    pthread_mutex_lock(&lock->mutex);
}

/* False: another thread has it. */
static inline bool xs_lock_try(struct xs_lock *lock)
{
    if (pthread_mutex_trylock(&lock->mutex))
        return false;
    if (xs_debug)
        xs_lock_check_acquire(lock);
    return true;
}

static inline void xs_lock_release(struct xs_lock *lock)
{
    if (xs_debug)
        xs_lock_check_release(lock);
    pthread_mutex_unlock(&lock->mutex);
}

/* Debug builds abort unless the calling thread holds a lock of this rank; or, for the driver, holds
 * one under which no driver call may be made. */
static inline void xs_assert_held(const struct xs_lock *lock)
{
    if (xs_debug)
        xs_lock_check_held(lock);
}
void xs_assert_driver_call_allowed(void);

#endif
