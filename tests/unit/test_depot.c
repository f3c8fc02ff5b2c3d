/* The depot: batches of one key change threads, whole, and none is lost. */
#include "unit.h"

#include <pthread.h>
#include <sched.h>

#include "cache/depot.h"

#define BLOCKS 4096

static struct xs_depot depot;
static struct xs_block blocks[BLOCKS];

static int make(void **state)
{
    (void)state;
    memset(blocks, 0, sizeof(blocks));
    xs_depot_init(&depot);
    return 0;
}

static int end(void **state)
{
    (void)state;
    xs_depot_destroy(&depot);
    return 0;
}

/* Blocks first .. first + n - 1. */
static struct xs_cached_list batch_of(unsigned first, unsigned n)
{
    struct xs_cached_list batch = {0};
    for (unsigned i = first; i < first + n; i++) {
        blocks[i].next_cached = batch.head;
        batch.head = &blocks[i];
        batch.count++;
    }
    return batch;
}

static size_t length(const struct xs_cached_list *list)
{
    size_t n = 0;
    for (const struct xs_block *b = list->head; b; b = b->next_cached)
        n++;
    return n;
}

static void batch_comes_back_whole(void **state)
{
    (void)state;
    struct xs_cached_list batch = batch_of(0, 5), out;
    const uint64_t key = xs_cache_key(512, 1);
    assert_false(xs_depot_take(&depot, key, &out));
    assert_true(xs_depot_give(&depot, key, &batch, SIZE_MAX));
    assert_null(batch.head);
    assert_false(xs_depot_take(&depot, xs_cache_key(512, 2), &out));
    assert_true(xs_depot_take(&depot, key, &out));
    assert_int_equal(out.count, 5);
    assert_int_equal(length(&out), 5);
    assert_false(xs_depot_take(&depot, key, &out));
}

static void full_bin_refuses_and_leaves_the_batch(void **state)
{
    (void)state;
    const uint64_t key = xs_cache_key(512, 1);
    for (unsigned i = 0; i < XS_DEPOT_BATCHES; i++) {
        struct xs_cached_list batch = batch_of(2 * i, 2);
        assert_true(xs_depot_give(&depot, key, &batch, SIZE_MAX));
    }
    struct xs_cached_list batch = batch_of(100, 3), out = {0};
    assert_false(xs_depot_give(&depot, key, &batch, SIZE_MAX));
    assert_int_equal(batch.count, 3);
    assert_int_equal(length(&batch), 3);
    xs_depot_take_all(&depot, &out);
    assert_int_equal(out.count, 2 * XS_DEPOT_BATCHES);
    assert_int_equal(length(&out), 2 * XS_DEPOT_BATCHES);
    assert_true(xs_depot_give(&depot, key, &batch, SIZE_MAX));
}

/* Keys that share a bin do not mix. */
static void bin_holds_one_key(void **state)
{
    (void)state;
    unsigned given = 0, first = 0;
    for (uint64_t size = 512; size <= 512 * 2000; size += 512, first++) {
        struct xs_cached_list batch = batch_of(first, 1);
        blocks[first].key = xs_cache_key(size, 1);
        given += xs_depot_give(&depot, blocks[first].key, &batch, SIZE_MAX);
    }
    assert_true(given > XS_DEPOT_SHARDS * XS_DEPOT_BINS / 2);
    unsigned taken = 0;
    for (uint64_t size = 512; size <= 512 * 2000; size += 512) {
        struct xs_cached_list out;
        if (!xs_depot_take(&depot, xs_cache_key(size, 1), &out))
            continue;
        assert_int_equal(out.head->key, xs_cache_key(size, 1));
        taken++;
    }
    assert_int_equal(taken, given);
    assert_int_equal(depot.bytes, 0);
}

/* Of all keys together. */
static void bytes_are_bounded(void **state)
{
    (void)state;
    const uint64_t a = xs_cache_key(512, 1), b = xs_cache_key(1024, 1);
    struct xs_cached_list batch = batch_of(0, 4), out;
    assert_false(xs_depot_give(&depot, a, &batch, 2047));
    assert_true(xs_depot_give(&depot, a, &batch, 2048));
    batch = batch_of(4, 2);
    assert_false(xs_depot_give(&depot, b, &batch, 4095));
    assert_int_equal(batch.count, 2);
    assert_true(xs_depot_take(&depot, a, &out));
    assert_true(xs_depot_give(&depot, b, &batch, 4095));
}

static void empty_depot_has_nothing(void **state)
{
    (void)state;
    struct xs_cached_list out = {0};
    xs_depot_take_all(&depot, &out);
    assert_null(out.head);
    assert_int_equal(out.count, 0);
}

/* ---- threads ------------------------------------------------------------------------------------ */

static _Atomic unsigned received[BLOCKS];
static _Atomic bool all_given;

static void receive(struct xs_cached_list *list)
{
    for (struct xs_block *b = list->head, *next; b; b = next) {
        next = b->next_cached;
        received[b - blocks]++;
    }
}

static void *take(void *every)
{
    struct xs_cached_list out;
    for (bool last = false; !last;) {
        last = atomic_load(&all_given);
        for (uint32_t s = 1; s <= 4; s++)
            while (xs_depot_take(&depot, xs_cache_key(512, s), &out))
                receive(&out);
        if (every) {
            out = (struct xs_cached_list){0};
            xs_depot_take_all(&depot, &out);
            receive(&out);
        }
    }
    return NULL;
}

static void give(void)
{
    for (unsigned i = 0; i < BLOCKS; i += 4) {
        struct xs_cached_list batch = batch_of(i, 4);
        while (!xs_depot_give(&depot, xs_cache_key(512, 1 + i / 4 % 4), &batch, SIZE_MAX))
            sched_yield();
    }
    atomic_store(&all_given, true);
}

static void no_block_is_lost_or_doubled_between_threads(void **state)
{
    (void)state;
    pthread_t thread[3];
    int every = 1;
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, take, i ? NULL : &every), 0);
    give();
    for (unsigned i = 0; i < 3; i++)
        pthread_join(thread[i], NULL);
    for (unsigned i = 0; i < BLOCKS; i++)
        assert_int_equal(received[i], 1);
}

#define depot_test(f) cmocka_unit_test_setup_teardown(f, make, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        depot_test(batch_comes_back_whole),
        depot_test(full_bin_refuses_and_leaves_the_batch),
        depot_test(bin_holds_one_key),
        depot_test(bytes_are_bounded),
        depot_test(empty_depot_has_nothing),
        depot_test(no_block_is_lost_or_doubled_between_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
