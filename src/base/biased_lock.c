#include "base/biased_lock.h"

#include <linux/membarrier.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__SANITIZE_THREAD__)
#define UNDER_TSAN 1 /* it does not know membarrier */
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define UNDER_TSAN 1
#endif
#endif
#ifndef UNDER_TSAN
#define UNDER_TSAN 0
#endif

/* Whether there is no membarrier; set once before the first lock is made. */
static _Atomic bool needs_fence;

static pthread_once_t registered = PTHREAD_ONCE_INIT;

static void register_barrier(void)
{
    long rc = syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0);
    atomic_store(&needs_fence, UNDER_TSAN || rc != 0);
}

void xs_biased_lock_prepare(void)
{
    pthread_once(&registered, register_barrier);
}

void xs_biased_lock_init(struct xs_biased_lock *lock)
{
    xs_biased_lock_prepare();
    atomic_store(&lock->busy, 0);
    atomic_store(&lock->heed, atomic_load(&needs_fence) ? XS_BIASED_LOCK_FENCED : 0);
    pthread_mutex_init(&lock->turn, NULL);
}

void xs_biased_lock_destroy(struct xs_biased_lock *lock)
{
    pthread_mutex_destroy(&lock->turn);
}

void xs_biased_lock_barrier(void)
{
    if (!atomic_load_explicit(&needs_fence, memory_order_relaxed))
        syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
}

void xs_biased_lock_want(struct xs_biased_lock *lock)
{
    pthread_mutex_lock(&lock->turn);
    atomic_fetch_or(&lock->heed, XS_BIASED_LOCK_WANTED);
}

void xs_biased_lock_await(struct xs_biased_lock *lock)
{
    while (atomic_load(&lock->busy))
        sched_yield(); /* the owner is within a few instructions, unless it was descheduled there */
}

void xs_biased_lock_acquire(struct xs_biased_lock *lock)
{
    xs_biased_lock_want(lock);
    xs_biased_lock_barrier();
    xs_biased_lock_await(lock);
}

void xs_biased_lock_release(struct xs_biased_lock *lock)
{
    atomic_fetch_and(&lock->heed, ~XS_BIASED_LOCK_WANTED);
    pthread_mutex_unlock(&lock->turn);
}

void xs_biased_lock_enter_slow(struct xs_biased_lock *lock)
{
    atomic_store(&lock->busy, 1);
    while (atomic_load(&lock->heed) & XS_BIASED_LOCK_WANTED) {
        atomic_store_explicit(&lock->busy, 0, memory_order_release);
        pthread_mutex_lock(&lock->turn);
        pthread_mutex_unlock(&lock->turn);
        atomic_store(&lock->busy, 1);
    }
}
