#include "base/lock.h"

#include <stdlib.h>

#include "base/log.h"
#include "base/thread.h"

static const struct {
    const char *name;
    bool driver_call;
} ranks[] = {
#define X(rank, driver, text) {#rank, driver},
    XS_LOCK_LIST(X)
#undef X
};

static struct xs_thread *checked_thread(void)
{
    return xs_debug ? xs_thread_self() : NULL;
}

void xs_lock_init(struct xs_lock *lock, enum xs_rank rank)
{
    pthread_mutex_init(&lock->mutex, NULL);
    lock->rank = rank;
}

void xs_lock_destroy(struct xs_lock *lock)
{
    pthread_mutex_destroy(&lock->mutex);
}

static void check_order(const struct xs_thread *t, enum xs_rank rank)
{
    unsigned above = t->held_ranks >> rank; /* this rank and all that come after it */
    if (!above)
        return;
    enum xs_rank held = (enum xs_rank)(rank + (unsigned)__builtin_ctz(above));
    xs_log("lock order broken: taking %s while holding %s", ranks[rank].name, ranks[held].name);
    abort();
}

/* The rank counts as held from before the lock is taken: nothing else may be taken meanwhile either. */
void xs_lock_check_acquire(const struct xs_lock *lock)
{
    struct xs_thread *t = checked_thread();
    if (!t)
        return;
    check_order(t, lock->rank);
    t->held_ranks |= 1u << lock->rank;
}

void xs_lock_check_release(const struct xs_lock *lock)
{
    struct xs_thread *t = checked_thread();
    if (t)
        t->held_ranks &= ~(1u << lock->rank);
}

void xs_lock_check_held(const struct xs_lock *lock)
{
    const struct xs_thread *t = checked_thread();
    if (!t || (t->held_ranks & (1u << lock->rank)))
        return;
    xs_log("lock %s is not held", ranks[lock->rank].name);
    abort();
}

void xs_assert_driver_call_allowed(void)
{
    const struct xs_thread *t = checked_thread();
    for (unsigned rank = 0; t && rank < XS_RANK_COUNT; rank++) {
        if (!(t->held_ranks & (1u << rank)) || ranks[rank].driver_call)
            continue;
        xs_log("driver call while holding %s", ranks[rank].name);
        abort();
    }
}
