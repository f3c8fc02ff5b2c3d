/* The map from address to record: alone, grown, and read without a lock while others write. */
#include "unit.h"

#include <pthread.h>

#include "base/addr_map.h"
#include "base/lock.h"

#define NODES   20000 /* the first table has 4096 buckets: it grows three times */
#define READERS 3

static struct xs_addr_map map;
static struct xs_lock lock = XS_LOCK_INITIALIZER(XS_RANK_HEAP); /* the writers' */
static struct xs_addr_node nodes[NODES];

static uint64_t va_of(size_t i)
{
    return 0x700000000000u + i * 512;
}

static int make(void **state)
{
    (void)state;
    memset(nodes, 0, sizeof(nodes));
    return !xs_addr_map_init(&map);
}

static int end(void **state)
{
    (void)state;
    xs_addr_map_destroy(&map);
    return 0;
}

static void insert_range(size_t from, size_t to)
{
    for (size_t i = from; i < to; i++) {
        xs_lock_acquire(&lock);
        xs_addr_map_insert(&map, &nodes[i], va_of(i));
        xs_lock_release(&lock);
    }
}

static void remove_range(size_t from, size_t to)
{
    for (size_t i = from; i < to; i++) {
        xs_lock_acquire(&lock);
        xs_addr_map_remove(&map, &nodes[i]);
        xs_lock_release(&lock);
    }
}

/* As a caller that has to be sure: under the lock where a look without it finds nothing. */
static struct xs_addr_node *find_surely(uint64_t va)
{
    struct xs_addr_node *node = xs_addr_map_find(&map, va);
    if (node)
        return node;
    xs_lock_acquire(&lock);
    node = xs_addr_map_find_locked(&map, va);
    xs_lock_release(&lock);
    return node;
}

static void found_after_insert_and_not_after_remove(void **state)
{
    (void)state;
    assert_null(xs_addr_map_find(&map, va_of(0)));
    insert_range(0, 2);
    assert_ptr_equal(xs_addr_map_find(&map, va_of(0)), &nodes[0]);
    assert_ptr_equal(xs_addr_map_find(&map, va_of(1)), &nodes[1]);
    assert_null(xs_addr_map_find(&map, va_of(1) + 1)); /* inside is not the address */
    xs_addr_map_remove(&map, &nodes[0]);
    assert_null(xs_addr_map_find(&map, va_of(0)));
    assert_int_equal(nodes[0].va, 0);
    assert_ptr_equal(xs_addr_map_find(&map, va_of(1)), &nodes[1]);
    assert_int_equal(map.count, 1);
}

static void null_is_never_found(void **state)
{
    (void)state;
    insert_range(0, 1);
    xs_addr_map_remove(&map, &nodes[0]); /* a removed node carries 0 */
    assert_null(xs_addr_map_find(&map, 0));
    assert_null(xs_addr_map_find_locked(&map, 0));
}

static void record_may_come_back_under_another_address(void **state)
{
    (void)state;
    insert_range(0, 1);
    xs_addr_map_remove(&map, &nodes[0]);
    xs_addr_map_insert(&map, &nodes[0], va_of(9));
    assert_null(xs_addr_map_find(&map, va_of(0)));
    assert_ptr_equal(xs_addr_map_find(&map, va_of(9)), &nodes[0]);
}

static void all_are_found_through_growth(void **state)
{
    (void)state;
    const struct xs_addr_table *first = atomic_load(&map.table);
    insert_range(0, NODES);
    assert_ptr_not_equal(atomic_load(&map.table), first);
    for (size_t i = 0; i < NODES; i++)
        assert_ptr_equal(xs_addr_map_find(&map, va_of(i)), &nodes[i]);
    for (size_t i = 0; i < NODES; i += 2)
        remove_range(i, i + 1);
    for (size_t i = 0; i < NODES; i++)
        assert_ptr_equal(find_surely(va_of(i)), i % 2 ? &nodes[i] : NULL);
    assert_int_equal(map.count, NODES / 2);
}

/* ---- readers beside a writer ------------------------------------------------------------------- */

#define FIXED 2000 /* these are in the map throughout */

static _Atomic bool stop;
static _Atomic size_t missed, wrong;

/* A fixed address is always found, and what is found is the record of that address. */
static void *read_until_stopped(void *arg)
{
    uint64_t seed = (uintptr_t)arg;
    while (!atomic_load(&stop)) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        size_t fixed = (seed >> 33) % FIXED, other = FIXED + (seed >> 20) % (NODES - FIXED);
        struct xs_addr_node *node = find_surely(va_of(fixed));
        atomic_fetch_add(&missed, node == NULL);
        atomic_fetch_add(&wrong, node && node != &nodes[fixed]);
        node = xs_addr_map_find(&map, va_of(other));
        atomic_fetch_add(&wrong, node && node != &nodes[other]);
    }
    return NULL;
}

static void readers_beside_a_writer_find_what_stays(void **state)
{
    (void)state;
    pthread_t readers[READERS];
    insert_range(0, FIXED);
    atomic_store(&stop, false);
    for (size_t i = 0; i < READERS; i++)
        pthread_create(&readers[i], NULL, read_until_stopped, (void *)(i + 1));
    for (unsigned round = 0; round < 3; round++) {
        insert_range(FIXED, NODES); /* grows in the first round */
        remove_range(FIXED, NODES);
    }
    atomic_store(&stop, true);
    for (size_t i = 0; i < READERS; i++)
        pthread_join(readers[i], NULL);
    assert_int_equal(missed, 0);
    assert_int_equal(wrong, 0);
}

static void *churn(void *arg)
{
    size_t from = (size_t)(uintptr_t)arg * 4000;
    for (unsigned round = 0; round < 20; round++) {
        insert_range(from, from + 4000);
        remove_range(from, from + 4000);
    }
    insert_range(from, from + 4000);
    return NULL;
}

static void writers_on_different_records_lose_none(void **state)
{
    (void)state;
    pthread_t writers[4];
    for (size_t i = 0; i < 4; i++)
        pthread_create(&writers[i], NULL, churn, (void *)i);
    for (size_t i = 0; i < 4; i++)
        pthread_join(writers[i], NULL);
    for (size_t i = 0; i < 16000; i++)
        assert_ptr_equal(xs_addr_map_find(&map, va_of(i)), &nodes[i]);
    assert_int_equal(map.count, 16000);
}

int main(void)
{
#define MAP_TEST(f) cmocka_unit_test_setup_teardown(f, make, end)
    const struct CMUnitTest tests[] = {
        MAP_TEST(found_after_insert_and_not_after_remove),
        MAP_TEST(null_is_never_found),
        MAP_TEST(record_may_come_back_under_another_address),
        MAP_TEST(all_are_found_through_growth),
        MAP_TEST(readers_beside_a_writer_find_what_stays),
        MAP_TEST(writers_on_different_records_lose_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
