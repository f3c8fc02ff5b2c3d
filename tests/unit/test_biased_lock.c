/* The lock that is cheap for its owner: it excludes, with membarrier and with fences, and nobody is stuck. */
#include "unit.h"

#include <pthread.h>
#include <sched.h>

#include "base/biased_lock.h"

#define OTHERS 2
#define ROUNDS 2000 /* of each other thread; the owner goes on until they are done */

static struct xs_biased_lock lock;
static uint64_t plain[2]; /* guarded by the lock; always equal */
static _Atomic bool owner_done;
static _Atomic unsigned others_done;

static int make(void **state)
{
    (void)state;
    xs_biased_lock_init(&lock);
    memset(plain, 0, sizeof(plain));
    owner_done = false;
    others_done = 0;
    return 0;
}

static int end(void **state)
{
    (void)state;
    xs_biased_lock_destroy(&lock);
    return 0;
}

/* What no two threads may do at once. Returns whether another was seen at it. */
static bool change(void)
{
    const bool torn = plain[0] != plain[1];
    plain[0]++;
    __asm__ volatile("" ::: "memory");
    plain[1]++;
    return torn;
}

static void *change_as_another(void *arg)
{
    uintptr_t torn = 0;
    (void)arg;
    for (unsigned i = 0; i < ROUNDS; i++) {
        xs_biased_lock_acquire(&lock);
        torn += change();
        xs_biased_lock_release(&lock);
        if (i % 16 == 0)
            sched_yield();
    }
    others_done++;
    return (void *)torn;
}

static void contend(void)
{
    pthread_t thread[OTHERS];
    uintptr_t torn = 0;
    uint64_t rounds = 0;
    for (unsigned i = 0; i < OTHERS; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, change_as_another, NULL), 0);
    for (; atomic_load(&others_done) < OTHERS; rounds++) {
        xs_biased_lock_enter(&lock);
        torn += change();
        xs_biased_lock_leave(&lock);
    }
    for (unsigned i = 0; i < OTHERS; i++) {
        void *seen;
        pthread_join(thread[i], &seen);
        torn += (uintptr_t)seen;
    }
    assert_int_equal(torn, 0);
    assert_int_equal(plain[0], rounds + OTHERS * ROUNDS);
    assert_int_equal(plain[1], plain[0]);
}

static void it_excludes(void **state)
{
    (void)state;
    contend();
}

/* As on a kernel without membarrier. */
static void it_excludes_with_fences(void **state)
{
    (void)state;
    atomic_store(&lock.heed, XS_BIASED_LOCK_FENCED);
    contend();
    assert_int_equal(lock.heed, XS_BIASED_LOCK_FENCED);
}

static void another_may_hold_it_while_the_owner_sleeps(void **state)
{
    (void)state;
    xs_biased_lock_enter(&lock);
    change();
    xs_biased_lock_leave(&lock);
    xs_biased_lock_acquire(&lock);
    assert_false(change());
    xs_biased_lock_release(&lock);
    xs_biased_lock_enter(&lock); /* nobody wants it any more: the short way */
    assert_false(change());
    xs_biased_lock_leave(&lock);
    assert_int_equal(lock.busy, 0);
    assert_int_equal(lock.heed & XS_BIASED_LOCK_WANTED, 0);
}

static void *hold_for_a_while(void *held)
{
    xs_biased_lock_acquire(&lock);
    atomic_store((_Atomic bool *)held, true);
    for (unsigned i = 0; i < 1000; i++)
        sched_yield();
    assert_false(change());
    assert_false(atomic_load(&owner_done));
    xs_biased_lock_release(&lock);
    return NULL;
}

static void owner_waits_while_another_holds_it(void **state)
{
    (void)state;
    pthread_t thread;
    _Atomic bool held = false;
    assert_int_equal(pthread_create(&thread, NULL, hold_for_a_while, &held), 0);
    while (!atomic_load(&held))
        sched_yield();
    xs_biased_lock_enter(&lock);
    atomic_store(&owner_done, true);
    assert_false(change());
    xs_biased_lock_leave(&lock);
    pthread_join(thread, NULL);
    assert_int_equal(plain[0], 2);
}

#define lock_test(f) cmocka_unit_test_setup_teardown(f, make, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        lock_test(it_excludes),
        lock_test(it_excludes_with_fences),
        lock_test(another_may_hold_it_while_the_owner_sleeps),
        lock_test(owner_waits_while_another_holds_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
