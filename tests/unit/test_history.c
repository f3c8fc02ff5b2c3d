/* Rings of events: the newest stay, what is lost is known, rings outlive their threads. */
#include "unit.h"

#include <pthread.h>

#include "base/thread.h"
#include "stats/history.h"

static struct xs_history history;
static struct xs_event events[64];

static int begin(void **state)
{
    (void)state;
    xs_history_init(&history);
    xs_history_resize(&history, 12); /* 16 */
    return history.events != 16;
}

static int end(void **state)
{
    (void)state;
    xs_history_destroy(&history);
    return !xs_list_is_empty(&history.rings);
}

static void add(struct xs_ring *ring, uint64_t from, uint64_t to)
{
    for (uint64_t n = from; n < to; n++)
        xs_ring_add(ring, (enum xs_event_kind)(n % XS_EVENT_KINDS), (uint32_t)n, n, n * 512,
                    (void *)(n * 7));
}

static void an_event_is_read_as_it_was_written(void **state)
{
    (void)state;
    struct xs_thread *t = xs_thread_self();
    struct xs_ring *ring = xs_history_join(&history);
    bool wrapped;
    t->tag = 5;
    t->stack = 9;
    xs_ring_add(ring, XS_EVENT_OUT_OF_MEMORY, XS_EVENT_POOLS - 1, 1, UINT64_MAX,
                (void *)(uintptr_t)3);
    t->tag = t->stack = 0;
    assert_int_equal(xs_ring_read(ring, 1, events, &wrapped), 1);
    assert_false(wrapped);
    assert_int_equal(events[0].kind, XS_EVENT_OUT_OF_MEMORY);
    assert_int_equal(events[0].pool, XS_EVENT_POOLS - 1);
    assert_int_equal(events[0].va, 1);
    assert_int_equal(events[0].bytes, UINT64_MAX);
    assert_int_equal(events[0].stream, 3);
    assert_int_equal(events[0].tag, 5);
    assert_int_equal(events[0].stack, 9);
    assert_int_equal(events[0].thread, (uint32_t)t->id);
    assert_true(events[0].time_ns > 0);
}

static void the_newest_events_stay_in_order(void **state)
{
    (void)state;
    struct xs_ring *ring = xs_history_join(&history);
    bool wrapped;
    add(ring, 1, 41);
    assert_int_equal(xs_ring_read(ring, 40, events, &wrapped), 16);
    assert_true(wrapped);
    for (unsigned i = 0; i < 16; i++) {
        assert_int_equal(events[i].va, 25 + i);
        assert_true(i == 0 || events[i].time_ns >= events[i - 1].time_ns);
    }
}

/* The reader noted 20 events; by the time it reads, some of those are gone. */
static void what_was_overwritten_meanwhile_is_left_out(void **state)
{
    (void)state;
    struct xs_ring *ring = xs_history_join(&history);
    bool wrapped;
    add(ring, 0, 26);
    assert_int_equal(xs_ring_read(ring, 20, events, &wrapped), 10);
    assert_true(wrapped);
    assert_int_equal(events[0].va, 10);
    assert_int_equal(events[9].va, 19);
    add(ring, 26, 60);
    assert_int_equal(xs_ring_read(ring, 20, events, &wrapped), 0);
}

static void a_new_thread_goes_on_in_the_ring_of_one_that_ended(void **state)
{
    (void)state;
    struct xs_ring *a = xs_history_join(&history), *b = xs_history_join(&history);
    bool wrapped;
    assert_ptr_not_equal(a, b);
    add(a, 0, 3);
    xs_history_leave(&history, a);
    assert_ptr_equal(xs_history_join(&history), a);
    assert_int_equal(xs_ring_read(a, 3, events, &wrapped), 3);
}

static void another_size_means_other_rings(void **state)
{
    (void)state;
    struct xs_ring *old = xs_history_join(&history);
    xs_history_resize(&history, 64);
    struct xs_ring *new = xs_history_join(&history);
    assert_int_equal(new->mask, 63);
    xs_history_leave(&history, old);
    assert_int_equal(xs_history_join(&history)->mask, 63); /* not the old one */
    xs_history_resize(&history, 0);
    assert_null(history.device_ring);
    assert_null(xs_history_join(&history));
    xs_history_note(&history, XS_EVENT_MAP, 0, 1, 2, NULL); /* off: nothing */
}

static void no_ring_goes_while_it_is_read(void **state)
{
    (void)state;
    struct xs_ring *ring = xs_history_join(&history);
    bool wrapped;
    add(ring, 0, 3);
    xs_history_begin_reading(&history);
    xs_history_resize(&history, 0);
    xs_history_leave(&history, ring);
    assert_int_equal(xs_ring_read(ring, 3, events, &wrapped), 3);
    xs_history_end_reading(&history);
    assert_true(xs_list_is_empty(&history.rings));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(an_event_is_read_as_it_was_written, begin, end),
        cmocka_unit_test_setup_teardown(the_newest_events_stay_in_order, begin, end),
        cmocka_unit_test_setup_teardown(what_was_overwritten_meanwhile_is_left_out, begin, end),
        cmocka_unit_test_setup_teardown(a_new_thread_goes_on_in_the_ring_of_one_that_ended, begin,
                                        end),
        cmocka_unit_test_setup_teardown(another_size_means_other_rings, begin, end),
        cmocka_unit_test_setup_teardown(no_ring_goes_while_it_is_read, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
