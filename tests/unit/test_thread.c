/* The thread's record: one each, ids never reused, memory gone with the thread. */
#include "unit.h"

#include <pthread.h>

#include "base/meta.h"
#include "base/thread.h"

static void record_stays_the_same_within_a_thread(void **state)
{
    (void)state;
    struct xs_thread *t = xs_thread_self();
    assert_non_null(t);
    assert_ptr_equal(xs_thread_self(), t);
    assert_ptr_equal(xs_thread_current, t);
    assert_true(t->id > 0);
}

struct seen {
    uint64_t id;
    const void *record;
    bool zeroed;
};

static void *look(void *arg)
{
    struct seen *seen = arg;
    struct xs_thread *t = xs_thread_self();
    seen->id = t->id;
    seen->record = t;
    char *slot = xs_thread_slot(t, XS_THREAD_SLOT_DRIVER_ERROR, 3000);
    seen->zeroed = slot[0] == 0 && slot[2999] == 0;
    memset(slot, 1, 3000);
    return NULL;
}

static struct seen look_from_a_thread(void)
{
    struct seen seen;
    pthread_t thread;
    pthread_create(&thread, NULL, look, &seen);
    pthread_join(thread, NULL);
    return seen;
}

static void ids_are_never_given_twice(void **state)
{
    (void)state;
    uint64_t last = xs_thread_self()->id;
    for (int i = 0; i < 50; i++) {
        struct seen seen = look_from_a_thread();
        assert_true(seen.id > last);
        assert_true(seen.zeroed); /* also where the last thread's memory came back */
        last = seen.id;
    }
}

static void record_and_slots_go_with_the_thread(void **state)
{
    (void)state;
    look_from_a_thread();
    size_t before = xs_meta_bytes();
    for (int i = 0; i < 20; i++)
        look_from_a_thread();
    assert_int_equal(xs_meta_bytes(), before);
}

static void slot_is_made_once_and_kept(void **state)
{
    (void)state;
    struct xs_thread *t = xs_thread_self();
    int *slot = xs_thread_slot(t, XS_THREAD_SLOT_DRIVER_ERROR, sizeof(int));
    assert_int_equal(*slot, 0);
    *slot = 7;
    assert_ptr_equal(xs_thread_slot(t, XS_THREAD_SLOT_DRIVER_ERROR, sizeof(int)), slot);
    assert_int_equal(*slot, 7);
}

/* ---- the hook for higher floors ------------------------------------------------------------------- */

static uint64_t ended_id;
static bool was_current, had_slot;

static void note_end(struct xs_thread *t)
{
    ended_id = t->id;
    was_current = xs_thread_self() == t;
    had_slot = t->slot[XS_THREAD_SLOT_DRIVER_ERROR].data != NULL;
}

static void hook_sees_the_record_before_it_goes(void **state)
{
    (void)state;
    xs_thread_on_exit(note_end);
    struct seen seen = look_from_a_thread();
    assert_int_equal(ended_id, seen.id);
    assert_true(was_current && had_slot);
    xs_thread_on_exit(NULL);
    look_from_a_thread();
    assert_int_equal(ended_id, seen.id);
}

/* ---- calls from another library's destructor, after ours has run ---------------------------------- */

static pthread_key_t late_key;
static uint64_t late_id;

static void late_destructor(void *arg)
{
    (void)arg;
    late_id = xs_thread_self()->id;
}

static void *end_late(void *arg)
{
    xs_thread_self();
    pthread_setspecific(late_key, &late_id);
    return arg;
}

static void late_caller_gets_a_new_record_that_goes_too(void **state)
{
    (void)state;
    pthread_t thread;
    xs_thread_self(); /* our key exists, and comes before the next one */
    pthread_key_create(&late_key, late_destructor);
    size_t before = xs_meta_bytes();
    pthread_create(&thread, NULL, end_late, NULL);
    pthread_join(thread, NULL);
    assert_true(late_id > 0);
    assert_int_equal(xs_meta_bytes(), before);
    pthread_key_delete(late_key);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(record_stays_the_same_within_a_thread),
        cmocka_unit_test(ids_are_never_given_twice),
        cmocka_unit_test(record_and_slots_go_with_the_thread),
        cmocka_unit_test(slot_is_made_once_and_kept),
        cmocka_unit_test(hook_sees_the_record_before_it_goes),
        cmocka_unit_test(late_caller_gets_a_new_record_that_goes_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
