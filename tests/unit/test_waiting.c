/* Blocks used on several streams: they wait for each of these once freed, and for nothing else. */
#include "sim_fixture.h"

#include "core/runtime.h"
#include "core/waiting.h"

#define STREAMS 3

static struct xs_device *dev;
static struct xs_block *block;
static struct xs_stream *s[STREAMS];
static xs_cu_stream handles[STREAMS];

/* A live block of handles[0]; HEAP is held until the end of the test. */
static int make(void **state)
{
    (void)state;
    void *p;
    struct xs_stream_key keys[STREAMS];
    for (unsigned i = 0; i < STREAMS; i++) {
        handles[i] = new_manual_stream();
        ok(xs_stream_identify(handles[i], &keys[i]));
    }
    ok(xseg_malloc(&p, GRANULE, 0, handles[0]));
    dev = xs_runtime_open_device(0);
    block = xs_device_find(dev, p, true);
    xs_lock_acquire(&dev->lock);
    for (unsigned i = 0; i < STREAMS; i++)
        ok(xs_streams_get(&dev->streams, &keys[i], &s[i]));
    return 0;
}

static int end(void **state)
{
    xs_lock_release(&dev->lock);
    for (unsigned i = 0; i < STREAMS; i++)
        cu.cuStreamDestroy_v2(handles[i]);
    ok(xseg_shutdown());
    return driver_is_clean(state);
}

static unsigned uses(void)
{
    unsigned n = 0;
    for (const struct xs_use *use = block->uses; use; use = use->next)
        n++;
    return n;
}

/* As a free does. */
static void free_it(void)
{
    xs_addr_map_remove(&dev->addresses, &block->addr);
    xs_waiting_put(dev, block);
}

static void pass(unsigned i, uint64_t stamp)
{
    atomic_store(&s[i]->passed, stamp);
}

static void own_stream_is_no_use(void **state)
{
    (void)state;
    assert_true(xs_waiting_add_use(dev, block, s[0]));
    assert_int_equal(uses(), 0);
    assert_true(block->cacheable);
}

static void each_stream_is_noted_once(void **state)
{
    (void)state;
    const size_t refs = s[1]->refs;
    assert_true(xs_waiting_add_use(dev, block, s[1]));
    assert_true(xs_waiting_add_use(dev, block, s[2]));
    assert_true(xs_waiting_add_use(dev, block, s[1]));
    assert_int_equal(uses(), 2);
    assert_int_equal(s[1]->refs, refs + 1); /* its record is not taken for another stream */
    assert_false(block->cacheable);
}

static void it_waits_for_all_of_them(void **state)
{
    (void)state;
    const size_t refs = s[1]->refs;
    xs_waiting_add_use(dev, block, s[1]);
    xs_waiting_add_use(dev, block, s[2]);
    free_it();
    const uint64_t stamp = xs_fence_stamp(&dev->fences);
    assert_int_equal(xs_block_state_of(block), XS_BLOCK_WAITING);
    assert_false(xs_waiting_settle(dev));
    pass(1, stamp);
    assert_false(xs_waiting_settle(dev));
    pass(2, stamp - 1);
    assert_false(xs_waiting_settle(dev));
    pass(2, stamp);
    assert_true(xs_waiting_settle(dev));
    assert_true(xs_list_is_empty(&dev->waiting));
    assert_int_equal(s[1]->refs, refs);
    assert_int_equal(dev->uses.live, 0);
    xs_cu_ptr va;
    assert_non_null(
        xs_heap_find(&dev->main.expandable, GRANULE, 1, s[0], &va)); /* its stream's again */
    assert_null(xs_heap_find(&dev->main.expandable, GRANULE, 1, s[1], &va));
}

static void passed_context_is_enough(void **state)
{
    (void)state;
    xs_waiting_add_use(dev, block, s[1]);
    free_it();
    atomic_store(&dev->fences.context_passed, xs_fence_stamp(&dev->fences));
    assert_true(xs_waiting_settle(dev));
}

static void adopted_it_is_one_streams_alone(void **state)
{
    (void)state;
    xs_waiting_add_use(dev, block, s[1]);
    const uint64_t stamp = xs_fence_stamp(&dev->fences);
    free_it();
    assert_false(xs_waiting_adopt(dev, s[2], stamp - 1));
    assert_true(xs_waiting_adopt(dev, s[2], stamp));
    xs_cu_ptr va;
    assert_non_null(xs_heap_find(&dev->main.expandable, GRANULE, 1, s[2], &va));
    assert_null(xs_heap_find(&dev->main.expandable, GRANULE, 1, s[0], &va));
}

#define waiting_test(f) cmocka_unit_test_setup_teardown(f, make, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        waiting_test(own_stream_is_no_use),
        waiting_test(each_stream_is_noted_once),
        waiting_test(it_waits_for_all_of_them),
        waiting_test(passed_context_is_enough),
        waiting_test(adopted_it_is_one_streams_alone),
    };
    return cmocka_run_group_tests(tests, start_simulator, NULL);
}
