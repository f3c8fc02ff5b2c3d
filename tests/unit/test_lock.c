/* Ranks are enforced where XS_DEBUG is set, and cost nothing where it is not. */
#include "unit.h"

#include <pthread.h>

#include "base/lock.h"
#include "child.h"

static struct xs_lock growth = XS_LOCK_INITIALIZER(XS_RANK_GROWTH);
static struct xs_lock heap = XS_LOCK_INITIALIZER(XS_RANK_HEAP);
static struct xs_lock other_heap = XS_LOCK_INITIALIZER(XS_RANK_HEAP);
static struct xs_lock meta = XS_LOCK_INITIALIZER(XS_RANK_META);

/* In a debug build the child aborts and says this; in a release build it passes. */
static void expect_abort(int (*body)(void), const char *text)
{
    struct child_result child = run_child(body);
    if (!xs_debug) {
        assert_true(child_returned(&child, 0));
        return;
    }
    if (!child_aborted(&child) || !strstr(child.output, text))
        fail_msg("expected an abort with '%s', got status 0x%x and '%s'", text,
                 (unsigned)child.status, child.output);
}

static void in_order(void **state)
{
    (void)state;
    xs_lock_acquire(&growth);
    xs_assert_driver_call_allowed();
    xs_lock_acquire(&heap);
    xs_assert_held(&heap);
    xs_lock_acquire(&meta);
    xs_lock_release(&heap); /* in any order */
    xs_lock_release(&growth);
    xs_lock_release(&meta);
    xs_assert_driver_call_allowed();
    xs_lock_acquire(&growth);
    xs_lock_release(&growth);
}

static int take_upwards(void)
{
    xs_lock_acquire(&heap);
    xs_lock_acquire(&growth);
    return 0;
}

static int take_upwards_past_another(void)
{
    xs_lock_acquire(&heap);
    xs_lock_acquire(&meta);
    xs_lock_release(&heap);
    xs_lock_acquire(&growth);
    return 0;
}

static int take_two_of_a_rank(void)
{
    xs_lock_acquire(&heap);
    xs_lock_acquire(&other_heap);
    return 0;
}

static void broken_order_aborts_with_both_names(void **state)
{
    (void)state;
    expect_abort(take_upwards, "lock order broken: taking GROWTH while holding HEAP");
    expect_abort(take_upwards_past_another, "taking GROWTH while holding META");
    expect_abort(take_two_of_a_rank, "taking HEAP while holding HEAP");
}

static int assert_without(void)
{
    xs_assert_held(&heap);
    return 0;
}

static int assert_after_release(void)
{
    xs_lock_acquire(&heap);
    xs_lock_release(&heap);
    xs_assert_held(&heap);
    return 0;
}

static void lock_that_is_not_held_aborts_by_name(void **state)
{
    (void)state;
    expect_abort(assert_without, "lock HEAP is not held");
    expect_abort(assert_after_release, "lock HEAP is not held");
}

static int call_driver_under_heap(void)
{
    xs_lock_acquire(&growth);
    xs_lock_acquire(&heap);
    xs_assert_driver_call_allowed();
    return 0;
}

static void driver_call_under_a_heap_lock_aborts(void **state)
{
    (void)state;
    expect_abort(call_driver_under_heap, "driver call while holding HEAP");
}

/* ---- it excludes ------------------------------------------------------------------------------- */

static size_t counter;

static void *count_up(void *arg)
{
    for (int i = 0; i < 20000; i++) {
        xs_lock_acquire(arg);
        counter++;
        xs_lock_release(arg);
    }
    return NULL;
}

static void only_one_thread_is_inside(void **state)
{
    (void)state;
    struct xs_lock lock;
    pthread_t threads[4];
    xs_lock_init(&lock, XS_RANK_FENCE);
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, count_up, &lock);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    xs_lock_destroy(&lock);
    assert_int_equal(counter, 80000);
}

static void *hold_nothing(void *arg)
{
    xs_lock_acquire(&growth); /* ranks are a thread's own: the main thread holds HEAP */
    xs_lock_release(&growth);
    return arg;
}

static void ranks_are_counted_for_each_thread(void **state)
{
    (void)state;
    pthread_t thread;
    xs_lock_acquire(&heap);
    pthread_create(&thread, NULL, hold_nothing, NULL);
    pthread_join(thread, NULL);
    xs_lock_release(&heap);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(in_order),
        cmocka_unit_test(broken_order_aborts_with_both_names),
        cmocka_unit_test(lock_that_is_not_held_aborts_by_name),
        cmocka_unit_test(driver_call_under_a_heap_lock_aborts),
        cmocka_unit_test(only_one_thread_is_inside),
        cmocka_unit_test(ranks_are_counted_for_each_thread),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
