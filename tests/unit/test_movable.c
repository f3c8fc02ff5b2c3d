/* What a growth may take out of free memory, and for whom. */
#include "sim_fixture.h"

#include "core/caches.h"
#include "core/movable.h"
#include "core/runtime.h"

#define BYTES (16 * XS_MIB)

static struct xs_device *dev;
static struct xs_stream *s[2];
static xs_cu_stream handles[2];
static struct xs_movable movable;

/* Freed on the first of two streams, which is at work; HEAP is held until the end of the test. */
static int make(void **state)
{
    (void)state;
    void *p;
    struct xs_stream_key keys[2];
    for (unsigned i = 0; i < 2; i++) {
        handles[i] = new_manual_stream();
        ok(xs_stream_identify(handles[i], &keys[i]));
    }
    ok(xseg_malloc(&p, BYTES, 0, handles[0]));
    dev = xs_runtime_open_device(0);
    queue_work(handles[0], 1);
    ok(xseg_free(p));
    xs_caches_flush(dev);
    xs_lock_acquire(&dev->lock);
    for (unsigned i = 0; i < 2; i++)
        ok(xs_streams_get(&dev->streams, &keys[i], &s[i]));
    xs_movable_init(&movable);
    return 0;
}

static int end(void **state)
{
    xs_movable_end(&movable);
    xs_lock_release(&dev->lock);
    for (unsigned i = 0; i < 2; i++)
        cu.cuStreamDestroy_v2(handles[i]);
    ok(xseg_shutdown());
    return driver_is_clean(state);
}

static void expect(const struct xs_stream *stream, size_t passed, size_t own, size_t waiting)
{
    xs_movable_end(&movable);
    xs_movable_init(&movable);
    xs_movable_gather(&movable, dev, stream);
    assert_int_equal(movable.passed.bytes, passed);
    assert_int_equal(movable.own.bytes, own);
    assert_int_equal(movable.waiting_bytes, waiting);
}

static void pass(void)
{
    atomic_store(&s[0]->passed, xs_fence_stamp(&dev->fences));
}

static void what_is_in_use_is_its_own_streams_alone(void **state)
{
    (void)state;
    expect(s[0], 0, BYTES, 0);
    expect(s[1], 0, 0, BYTES);
    expect(NULL, 0, 0, BYTES);
    pass();
    for (unsigned i = 0; i < 2; i++)
        expect(s[i], BYTES, 0, 0);
}

/* It may serve its stream again, and nobody else, nor go back to the driver. */
static void what_is_still_mapped_elsewhere_has_not_passed(void **state)
{
    (void)state;
    expect(s[0], 0, BYTES, 0);
    struct xs_extent *e = xs_movable_largest(&movable.own, SIZE_MAX);
    pass();
    e->stale = 1;
    expect(s[0], BYTES - e->bytes, e->bytes, 0);
    expect(s[1], BYTES - e->bytes, 0, e->bytes);
    e->stale = 0;
}

int main(void)
{
#define MOVABLE_TEST(f) cmocka_unit_test_setup_teardown(f, make, end)
    const struct CMUnitTest tests[] = {
        MOVABLE_TEST(what_is_in_use_is_its_own_streams_alone),
        MOVABLE_TEST(what_is_still_mapped_elsewhere_has_not_passed),
    };
    return cmocka_run_group_tests(tests, start_simulator, NULL);
}
