/* The checker of a device finds each invariant of docs/invariants.md that is broken, and names it. */
#include "sim_fixture.h"

#include <pthread.h>

#include "cache/depot.h"
#include "core/caches.h"
#include "core/device_check.h"
#include "core/runtime.h"
#include "xseg/pools.h"

#define POINTERS 64

static struct xs_device *dev;
static struct xs_finding finding;
static xs_cu_stream handles[2];
static void *pointers[POINTERS];

static struct xs_block *block_of(const void *ptr)
{
    struct xs_block *block = xs_device_find(dev, ptr, true);
    assert_non_null(block);
    return block;
}

static void get(size_t i, size_t bytes, size_t stream)
{
    void *ptr;
    ok(xseg_malloc(&ptr, bytes, 0, handles[stream]));
    pointers[i] = ptr;
}

static void give(size_t i)
{
    ok(xseg_free(pointers[i]));
    pointers[i] = NULL;
}

#define assert_sound()                                                                             \
    do {                                                                                           \
        if (!xs_device_check(dev, true, &finding))                                                 \
            fail_msg("%s", finding.text);                                                          \
    } while (0)

/* A small device: a tool that follows every page of address space takes its time for a large one. */
static int start(void **state)
{
    setenv("XSEG_SIM_CAPACITY", "4G", 1);
    unsetenv("ALLOC_CONF");
    return start_simulator(state);
}

/* Blocks of every kind: live, freed on a stream, idle; a hole; a classic segment. */
static int make(void **state)
{
    (void)state;
    for (size_t i = 0; i < XS_COUNT_OF(handles); i++)
        handles[i] = new_manual_stream();
    get(0, 5 * XS_MIB, 0);
    dev = xs_runtime_open_device(0);
    get(1, 1000, 0);
    get(2, 30 * XS_MIB, 0);
    get(3, 1000, 1);
    give(2);
    get(2, 3 * XS_MIB, 1);
    queue_work(handles[0], 1); /* so that its fence does not pass */
    give(0);
    ok(xseg_configure("expandable_segments:False"));
    get(4, 1000, 0);
    get(5, 3 * XS_MIB, 1);
    ok(xseg_configure("expandable_segments:True"));
    assert_sound();
    return 0;
}

static int end(void **state)
{
    for (size_t i = 0; i < POINTERS; i++)
        give(i);
    for (size_t i = 0; i < XS_COUNT_OF(handles); i++)
        cu.cuStreamDestroy_v2(handles[i]);
    xs_cu_ctx_synchronize();
    ok(xseg_shutdown());
    return driver_is_clean(state);
}

/* Broken in the way that begins with this text, "D3: ..."; the statement mends it again. */
#define expect_broken(rule, mend)                                                                  \
    do {                                                                                           \
        assert_false(xs_device_check(dev, true, &finding));                                        \
        if (strncmp(finding.text, rule ":", sizeof(rule)) != 0)                                    \
            fail_msg("expected %s, got %s", rule, finding.text);                                   \
        mend;                                                                                      \
        assert_sound();                                                                            \
    } while (0)

static void heaps_are_checked_too(void **state)
{
    (void)state;
    struct xs_heap *heaps[] = {&dev->main.expandable, &dev->main.classic[XS_CLASSIC_SMALL],
                               &dev->main.classic[XS_CLASSIC_LARGE],
                               &dev->main.classic[XS_CLASSIC_UNCACHED]};
    for (size_t i = 0; i < XS_COUNT_OF(heaps); i++) {
        heaps[i]->free_bytes++;
        expect_broken("H7", heaps[i]->free_bytes--);
    }
}

static void d1_every_extent_is_mapped_or_idle(void **state)
{
    (void)state;
    struct xs_extent *lost = xs_extent_new(&dev->extents, GRANULE);
    expect_broken("D1", xs_extent_delete(&dev->extents, lost));
    dev->stats.now.extents.current++;
    expect_broken("D1", dev->stats.now.extents.current--);
}

static void d2_idle_extents_are_in_the_list_of_their_size(void **state)
{
    (void)state;
    struct xs_extent *e = xs_extent_new(&dev->extents, 2 * GRANULE);
    xs_extent_put_idle(&dev->extents, e);
    dev->stats.now.extents.current++;
    dev->stats.now.reserved_bytes.current += 2 * GRANULE;
    dev->stats.now.cached_bytes.current += 2 * GRANULE;
    assert_sound();
    e->va = 512;
    expect_broken("D2", e->va = 0);
    e->bytes += 2 * GRANULE;
    expect_broken("D2", e->bytes -= 2 * GRANULE);
    dev->extents.idle_bytes++;
    expect_broken("D2", dev->extents.idle_bytes--);
    xs_extent_take_idle(&dev->extents, e);
    xs_extent_delete(&dev->extents, e);
    dev->stats.now.extents.current--;
    dev->stats.now.reserved_bytes.current -= 2 * GRANULE;
    dev->stats.now.cached_bytes.current -= 2 * GRANULE;
}

static void d3_reserved_is_all_that_is_held_and_cached_what_is_not_active(void **state)
{
    (void)state;
    struct xseg_stats *now = &dev->stats.now;
    now->reserved_bytes.current += 512;
    expect_broken("D3", now->reserved_bytes.current -= 512);
    now->cached_bytes.current += 512;
    expect_broken("D3", now->cached_bytes.current -= 512);
    dev->out_bytes += 512;
    expect_broken("D3", dev->out_bytes -= 512);
}

static void d4_allocated_is_the_sum_of_live_blocks(void **state)
{
    (void)state;
    struct xseg_stats *now = &dev->stats.now;
    now->allocated_bytes.current += 512;
    expect_broken("D4", now->allocated_bytes.current -= 512);
    now->requested_bytes.current++;
    expect_broken("D4", now->requested_bytes.current--);
    now->allocations.current++;
    expect_broken("D4", now->allocations.current--);
    now->active_bytes.current -= 512, now->cached_bytes.current += 512;
    expect_broken("D4", (now->active_bytes.current += 512, now->cached_bytes.current -= 512));
    struct xs_block *live = block_of(pointers[1]);
    live->requested = 2000;
    expect_broken("D4", live->requested = 1000);
    live->requested = 0;
    expect_broken("D4", live->requested = 1000);
}

static void d5_live_blocks_and_no_others_are_in_the_address_map(void **state)
{
    (void)state;
    struct xs_block *live = block_of(pointers[1]);
    xs_addr_map_remove(&dev->addresses, &live->addr);
    expect_broken("D5", xs_addr_map_insert(&dev->addresses, &live->addr, xs_block_va(live)));
    struct xs_block *freed = xs_block_of_node(xs_bins_first(&dev->main.expandable.free[1]));
    assert_non_null(freed);
    xs_addr_map_insert(&dev->addresses, &freed->addr, xs_block_va(freed));
    expect_broken("D5", xs_addr_map_remove(&dev->addresses, &freed->addr));
}

static void d6_no_stamp_is_ahead_of_its_stream_nor_a_stream_of_the_epoch(void **state)
{
    (void)state;
    struct xs_block *freed = xs_block_of_node(xs_bins_first(&dev->main.expandable.free[1]));
    struct xs_stream *stream = freed->stream;
    uint64_t stamp = freed->stamp, last = stream->last_stamp, passed = atomic_load(&stream->passed);
    freed->stamp = last + 1;
    expect_broken("D6", freed->stamp = stamp);
    stream->last_stamp = xs_fence_stamp(&dev->fences) + 1;
    expect_broken("D6", stream->last_stamp = last);
    atomic_store(&stream->passed, xs_fence_stamp(&dev->fences));
    expect_broken("D6", atomic_store(&stream->passed, passed));
}

static void d7_streams_count_the_blocks_that_name_them(void **state)
{
    (void)state;
    struct xs_stream *stream = block_of(pointers[1])->stream;
    stream->refs++;
    assert_true(xs_device_check(dev, false, &finding)); /* a request may be under way */
    expect_broken("D7", stream->refs--);
    stream->refs--;
    assert_false(xs_device_check(dev, false, &finding));
    expect_broken("D7", stream->refs++);
    stream->key.id++;
    expect_broken("D7", stream->key.id--);
    dev->streams.count++;
    expect_broken("D7", dev->streams.count--);
}

static void d8_no_record_of_a_block_is_lost(void **state)
{
    (void)state;
    void *lost = xs_slab_get(&dev->records);
    expect_broken("D8", xs_slab_put(&dev->records, lost));
}

static void d9_segments_and_their_address_space_are_counted(void **state)
{
    (void)state;
    dev->stats.now.segments.current++;
    expect_broken("D9", dev->stats.now.segments.current--);
    dev->stats.now.address_bytes += 512;
    expect_broken("D9", dev->stats.now.address_bytes -= 512);
}

static void d10_nothing_is_busy_while_nothing_grows(void **state)
{
    (void)state;
    struct xs_block *hole = xs_block_of_link(dev->main.expandable.holes.next);
    assert_true(xs_heap_reserve(&dev->main.expandable, 2));
    struct xs_block *busy = xs_heap_carve(&dev->main.expandable, hole, xs_block_va(hole), GRANULE);
    expect_broken("D10", xs_heap_put_hole(&dev->main.expandable, busy));
}

static void d11_blocks_that_wait_are_listed_and_wait_for_something(void **state)
{
    (void)state;
    struct xs_block *used = block_of(pointers[1]);
    queue_work(handles[1], 1);
    ok(xseg_record_stream((void *)(uintptr_t)xs_block_va(used), handles[1]));
    give(1);
    assert_sound();
    assert_int_equal(xs_block_state_of(used), XS_BLOCK_WAITING);
    xs_list_remove(&used->link);
    expect_broken("D11", xs_list_push_back(&dev->waiting, &used->link));
    struct xs_use *use = used->uses;
    use->stamp = use->stream->last_stamp + 1;
    expect_broken("D6", use->stamp = use->stream->last_stamp);
    use->stream->refs--;
    expect_broken("D7", use->stream->refs++);
    void *lost = xs_slab_get(&dev->uses);
    expect_broken("D8", xs_slab_put(&dev->uses, lost));
}

static void d12_cached_blocks_are_in_one_cache_under_their_key(void **state)
{
    (void)state;
    struct xs_block *cached = block_of(pointers[1]);
    give(1);
    assert_int_equal(xs_block_state_of(cached), XS_BLOCK_CACHED);
    assert_sound();
    cached->key++;
    expect_broken("D12", cached->key--);
    struct xs_cache *own = xs_caches_own(dev);
    struct xs_cache_bin *bin = xs_cache_bin_of(own, cached->key);
    bin->count++;
    expect_broken("D12", bin->count--);
    bin->listed = false;
    expect_broken("D12", bin->listed = true);
    bin->head = NULL, bin->count = 0; /* in no cache */
    expect_broken("D12", (bin->head = cached, bin->count = 1));
    atomic_fetch_add(&dev->depot->bytes, 1);
    expect_broken("D12", atomic_fetch_sub(&dev->depot->bytes, 1));
}

static void d13_pools_are_in_order_and_their_users_counted(void **state)
{
    (void)state;
    xseg_pool name;
    ok(xseg_pool_create(0, 0, &name));
    struct xs_pool *pool = xs_pool_of_link(dev->pools.prev);
    assert_int_equal(pool->id, name);
    ok(xseg_pool_begin(name));
    assert_sound();
    pool->users++;
    expect_broken("D13", pool->users--);
    pool->index = 0;
    expect_broken("D13", pool->index = 1);
    pool->expandable.pool = 2;
    expect_broken("D13", pool->expandable.pool = 1);
    pool->id = 0;
    expect_broken("D13", pool->id = name);
    ok(xseg_pool_end(name));
    ok(xseg_pool_destroy(name));
}

static void d14_stale_places_are_listed_and_extents_count_them(void **state)
{
    (void)state;
    get(6, 60 * XS_MIB, 0);
    give(6);
    get(6, 20 * XS_MIB, 0);
    get(7, 70 * XS_MIB, 0); /* of what the GPU is still using */
    assert_sound();
    assert_false(xs_list_is_empty(&dev->stale));
    struct xs_block *stale = xs_block_of_link(dev->stale.next);
    struct xs_extent *extent = stale->extent;
    xs_list_remove(&stale->link);
    expect_broken("D14", xs_list_push_back(&dev->stale, &stale->link));
    extent->stale++;
    expect_broken("D14", extent->stale--);
    stale->extent = NULL;
    expect_broken("D14", stale->extent = extent);
    stale->stamp = stale->stream->last_stamp + 1;
    expect_broken("D6", stale->stamp = stale->stream->last_stamp);
}

/* ---- through use --------------------------------------------------------------------------------- */

static size_t random_size(uint64_t *seed)
{
    size_t log2 = 9 + random_below(seed, 17); /* 512 bytes to 64 MiB */
    return ((size_t)1 << log2) + random_below(seed, (size_t)1 << log2);
}

static void run_randomly(size_t steps, size_t check_every)
{
    uint64_t seed = 99;
    for (size_t step = 1; step <= steps; step++) {
        size_t i = random_below(&seed, POINTERS), stream = random_below(&seed, 2);
        if (pointers[i] && random_below(&seed, 10) == 0)
            ok(xseg_record_stream(pointers[i], handles[stream]));
        else if (pointers[i] && random_below(&seed, 10) == 0)
            ok(xseg_free_async(pointers[i], handles[stream])), pointers[i] = NULL;
        else if (pointers[i])
            give(i);
        else
            get(i, random_size(&seed), stream);
        if (random_below(&seed, 8) == 0)
            queue_work(handles[stream], 1);
        if (random_below(&seed, 16) == 0)
            sim.stream_advance(handles[stream], ALL);
        if (random_below(&seed, 500) == 0)
            ok(xseg_trim(0, random_below(&seed, XS_GIB)));
        if (step % check_every == 0)
            assert_sound();
    }
}

static void invariants_hold_through_random_use(void **state)
{
    (void)state;
    run_randomly(6000, 1);
}

static void invariants_hold_through_random_classic_use(void **state)
{
    (void)state;
    ok(xseg_configure("expandable_segments:False"));
    run_randomly(3000, 1);
}

/* ---- beside other threads ------------------------------------------------------------------------ */

static _Atomic bool stop;

static void *allocate_until_stopped(void *arg)
{
    enum { MINE = 16 };
    uint64_t seed = (uintptr_t)arg + 1, failures = 0;
    void *mine[MINE] = {NULL};
    while (!atomic_load(&stop)) {
        size_t i = random_below(&seed, MINE);
        failures += xseg_free(mine[i]) != XSEG_OK;
        mine[i] = NULL;
        failures +=
            xseg_malloc(&mine[i], random_size(&seed) / 16, 0, handles[(size_t)arg]) != XSEG_OK;
    }
    for (size_t i = 0; i < MINE; i++)
        failures += xseg_free(mine[i]) != XSEG_OK;
    return (void *)(uintptr_t)failures;
}

static void invariants_hold_beside_busy_threads(void **state)
{
    (void)state;
    pthread_t threads[2];
    bool sound = true;
    atomic_store(&stop, false);
    for (size_t i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, allocate_until_stopped, (void *)i);
    for (int i = 0; i < 400 && sound; i++) {
        sound = xs_device_check(dev, false, &finding);
        if (i % 50 == 0)
            ok(xseg_trim(0, 64 * XS_MIB));
    }
    atomic_store(&stop, true);
    for (size_t i = 0; i < 2; i++) {
        void *failures;
        pthread_join(threads[i], &failures);
        assert_null(failures);
    }
    if (!sound)
        fail_msg("%s", finding.text);
    assert_sound();
}

int main(void)
{
#define DEVICE_TEST(f) cmocka_unit_test_setup_teardown(f, make, end)
    const struct CMUnitTest tests[] = {
        DEVICE_TEST(heaps_are_checked_too),
        DEVICE_TEST(d1_every_extent_is_mapped_or_idle),
        DEVICE_TEST(d2_idle_extents_are_in_the_list_of_their_size),
        DEVICE_TEST(d3_reserved_is_all_that_is_held_and_cached_what_is_not_active),
        DEVICE_TEST(d4_allocated_is_the_sum_of_live_blocks),
        DEVICE_TEST(d5_live_blocks_and_no_others_are_in_the_address_map),
        DEVICE_TEST(d6_no_stamp_is_ahead_of_its_stream_nor_a_stream_of_the_epoch),
        DEVICE_TEST(d7_streams_count_the_blocks_that_name_them),
        DEVICE_TEST(d8_no_record_of_a_block_is_lost),
        DEVICE_TEST(d9_segments_and_their_address_space_are_counted),
        DEVICE_TEST(d10_nothing_is_busy_while_nothing_grows),
        DEVICE_TEST(d11_blocks_that_wait_are_listed_and_wait_for_something),
        DEVICE_TEST(d12_cached_blocks_are_in_one_cache_under_their_key),
        DEVICE_TEST(d13_pools_are_in_order_and_their_users_counted),
        DEVICE_TEST(d14_stale_places_are_listed_and_extents_count_them),
        DEVICE_TEST(invariants_hold_through_random_use),
        DEVICE_TEST(invariants_hold_through_random_classic_use),
        DEVICE_TEST(invariants_hold_beside_busy_threads),
    };
    return cmocka_run_group_tests(tests, start, NULL);
}
