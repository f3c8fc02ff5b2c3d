/* A thread's block cache: what goes in comes out as it was, within its bounds, and every byte is counted. */
#include "unit.h"

#include <pthread.h>

#include "cache/cache_hit.h"

#define BLOCKS 64
#define SMALL  ((size_t)4096)
#define LARGE  ((size_t)2 << 20)

static _Atomic uint64_t epoch;
static struct xs_cache_shared shared;
static struct xs_cache *cache;
static struct xs_block blocks[BLOCKS];
static struct xs_policy policy;

static int make(void **state)
{
    (void)state;
    xs_policy_defaults(&policy);
    policy.cache_blocks = 8;
    policy.cache_bytes = 64 * XS_MIB;
    policy.cache_keep = 64 * XS_KIB;
    memset(blocks, 0, sizeof(blocks));
    epoch = 7;
    shared.epoch = &epoch;
    shared.generation = 3;
    cache = xs_cache_new(&shared, NULL);
    assert_non_null(cache);
    xs_cache_refresh(cache, &policy, true);
    return 0;
}

static int end(void **state)
{
    (void)state;
    xs_cache_delete(cache);
    return 0;
}

static struct xs_block *live(unsigned i, uint64_t key)
{
    blocks[i].key = key;
    blocks[i].requested = xs_cache_key_bytes(key) - 1;
    xs_block_set_state(&blocks[i], XS_BLOCK_LIVE);
    return &blocks[i];
}

static uint64_t bin_for(size_t bytes)
{
    struct xs_cached_list evicted = {0};
    const uint64_t key = xs_cache_key(bytes, 1);
    xs_cache_make_bin(cache, key, &evicted);
    assert_null(evicted.head);
    return key;
}

/* A key that shares its two bins with `key`. */
static uint64_t rival_of(uint64_t key, unsigned nth)
{
    for (size_t bytes = 512;; bytes += 512) {
        const uint64_t other = xs_cache_key(bytes, 2);
        if (other != key && (xs_cache_slot(other) | 1) == (xs_cache_slot(key) | 1) && !nth--)
            return other;
    }
}

static struct xs_cached_list take_all(struct xs_cache_counts *counts)
{
    struct xs_cached_list out = {0};
    xs_cache_take_all(cache, true, &out, counts);
    return out;
}

static void key_holds_size_and_stream(void **state)
{
    (void)state;
    const uint64_t last = xs_cache_lane(4095, 4095), first = xs_cache_lane(0, 1);
    assert_int_equal(xs_cache_key_bytes(xs_cache_key(512, last)), 512);
    assert_int_equal(xs_cache_key_bytes(xs_cache_key(XS_CACHE_LARGEST, last)), XS_CACHE_LARGEST);
    assert_true(xs_cache_key(512, last) != xs_cache_key(1024, xs_cache_lane(0, 0)));
    assert_true(xs_cache_key(512, first) != xs_cache_key(512, xs_cache_lane(0, 2)));
    assert_true(xs_cache_key(512, first) != xs_cache_key(512, xs_cache_lane(1, 1)));
    assert_true(xs_cache_key(512, xs_cache_lane(0, 512)) != xs_cache_key(512, xs_cache_lane(0, 0)));
}

static void last_in_is_first_out(void **state)
{
    (void)state;
    const uint64_t key = bin_for(SMALL);
    assert_null(xs_cache_pop(cache, key, 1, false));
    assert_true(xs_cache_push(cache, live(0, key)));
    epoch = 9;
    assert_true(xs_cache_push(cache, live(1, key)));
    assert_int_equal(blocks[0].stamp, 7);
    assert_int_equal(blocks[1].stamp, 9);
    assert_int_equal(xs_block_state_of(&blocks[0]), XS_BLOCK_CACHED);
    assert_ptr_equal(xs_cache_pop(cache, key, 100, false), &blocks[1]);
    assert_int_equal(xs_block_state_of(&blocks[1]), XS_BLOCK_LIVE);
    assert_int_equal(blocks[1].requested, 100);
    assert_ptr_equal(xs_cache_pop(cache, key, 1, false), &blocks[0]);
    assert_null(xs_cache_pop(cache, key, 1, false));
    assert_int_equal(xs_cache_bytes(cache), 0);
}

static void only_its_own_key_is_served(void **state)
{
    (void)state;
    const uint64_t key = bin_for(SMALL), other = bin_for(2 * SMALL);
    assert_true(xs_cache_push(cache, live(0, key)));
    assert_null(xs_cache_pop(cache, other, 1, false));
    assert_null(xs_cache_pop(cache, xs_cache_key(SMALL, 2), 1, false));
    assert_ptr_equal(xs_cache_pop(cache, key, 1, false), &blocks[0]);
}

static void what_is_not_live_is_refused(void **state)
{
    (void)state;
    const uint64_t key = bin_for(SMALL);
    assert_true(xs_cache_push(cache, live(0, key)));
    assert_false(xs_cache_push(cache, &blocks[0]));                      /* freed twice */
    assert_false(xs_cache_push(cache, live(1, xs_cache_key(SMALL, 3)))); /* has no bin */
    assert_int_equal(xs_block_state_of(&blocks[1]), XS_BLOCK_LIVE);
    assert_int_equal(xs_cache_bytes(cache), SMALL);
}

static void bin_takes_no_more_than_its_limit(void **state)
{
    (void)state;
    const uint64_t key = bin_for(SMALL);
    for (unsigned i = 0; i < 8; i++)
        assert_true(xs_cache_push(cache, live(i, key)));
    assert_false(xs_cache_push(cache, live(8, key)));
    struct xs_cached_list half = {0};
    xs_cache_take_half(cache, key, &half);
    assert_int_equal(half.count, 4);
    assert_ptr_equal(half.head, &blocks[4]);
    assert_true(xs_cache_push(cache, &blocks[8]));
}

/* A thread that frees what others allocate passes it on early; once it has asked itself, it keeps more. */
static void thread_that_only_frees_keeps_little(void **state)
{
    (void)state;
    policy.cache_blocks = BLOCKS;
    xs_cache_refresh(cache, &policy, true);
    const uint64_t key = bin_for(SMALL);
    for (unsigned i = 0; i < XS_CACHE_PASSING; i++)
        assert_true(xs_cache_push(cache, live(i, key)));
    assert_false(xs_cache_push(cache, live(XS_CACHE_PASSING, key)));
    xs_cache_expect(cache, key);
    for (unsigned i = XS_CACHE_PASSING; i < BLOCKS - 1; i++)
        assert_true(xs_cache_push(cache, live(i, key)));
    struct xs_cache_counts counts = {0};
    assert_int_equal(take_all(&counts).count, BLOCKS - 1);
}

static void bytes_are_bounded(void **state)
{
    (void)state;
    const uint64_t key = bin_for(24 * XS_MIB);
    assert_true(xs_cache_push(cache, live(0, key)));
    assert_true(xs_cache_push(cache, live(1, key)));
    assert_false(xs_cache_push(cache, live(2, key)));
    assert_int_equal(xs_cache_bytes(cache), 48 * XS_MIB);
}

static void less_used_rival_makes_room(void **state)
{
    (void)state;
    const uint64_t key = bin_for(SMALL), b = rival_of(key, 0), c = rival_of(key, 1);
    struct xs_cached_list evicted = {0};
    assert_true(xs_cache_push(cache, live(0, key)));
    xs_cache_make_bin(cache, b, &evicted);
    assert_null(evicted.head); /* there are two */
    assert_true(xs_cache_push(cache, live(1, b)));
    assert_ptr_equal(xs_cache_pop(cache, key, 1, false), &blocks[0]);
    assert_true(xs_cache_push(cache, &blocks[0]));
    xs_cache_make_bin(cache, c, &evicted);
    assert_int_equal(evicted.count, 1);
    assert_ptr_equal(evicted.head, &blocks[1]);
    assert_null(xs_cache_pop(cache, b, 1, false));
    assert_ptr_equal(xs_cache_pop(cache, key, 1, false), &blocks[0]);
    assert_true(xs_cache_push(cache, live(2, c)));
}

static void filled_bin_gives_all_it_got(void **state)
{
    (void)state;
    const uint64_t key = bin_for(SMALL);
    for (unsigned i = 0; i < 8; i++)
        assert_true(xs_cache_push(cache, live(i, key)));
    struct xs_cached_list batch = {0}, none = {0};
    xs_cache_take_half(cache, key, &batch);
    xs_cache_take_half(cache, key, &none);
    assert_null(none.head); /* the bin is not full any more */
    while (xs_cache_pop(cache, key, 1, false))
        ;
    xs_cache_fill(cache, key, &batch, &none);
    assert_null(none.head);
    assert_null(batch.head);
    assert_int_equal(xs_cache_bytes(cache), 4 * SMALL);
    for (unsigned i = 0; i < 4; i++)
        assert_non_null(xs_cache_pop(cache, key, 1, false));
    assert_null(xs_cache_pop(cache, key, 1, false));
}

/* What a batch has too much of does not come in. */
static void filled_bin_keeps_to_the_bytes(void **state)
{
    (void)state;
    const uint64_t large = bin_for(24 * XS_MIB), key = bin_for(LARGE);
    struct xs_cached_list batch = {0}, over = {0};
    for (unsigned i = 0; i < 8; i++)
        assert_true(xs_cache_push(cache, live(i, key)));
    xs_cache_take_half(cache, key, &batch);
    while (xs_cache_pop(cache, key, 1, false))
        ;
    policy.cache_bytes = 24 * XS_MIB + 3 * LARGE;
    xs_cache_refresh(cache, &policy, true);
    assert_true(xs_cache_push(cache, live(9, large)));
    xs_cache_fill(cache, key, &batch, &over);
    assert_int_equal(over.count, 1);
    assert_int_equal(xs_cache_bytes(cache), policy.cache_bytes);
}

static void small_blocks_stay_when_large_ones_go(void **state)
{
    (void)state;
    const uint64_t small = bin_for(SMALL), large = bin_for(LARGE);
    struct xs_cached_list out = {0};
    assert_true(xs_cache_push(cache, live(0, small)) && xs_cache_push(cache, live(1, large)));
    xs_cache_take_large(cache, &out);
    assert_int_equal(out.count, 1);
    assert_ptr_equal(out.head, &blocks[1]);
    assert_ptr_equal(xs_cache_pop(cache, small, 1, false), &blocks[0]);
    assert_true(xs_cache_push(cache, live(1, large))); /* listed anew */
    struct xs_cache_counts counts;
    assert_int_equal(take_all(&counts).count, 1);
}

static void take_all_leaves_nothing_but_works_on(void **state)
{
    (void)state;
    struct xs_cache_counts n;
    for (unsigned round = 0; round < 3; round++) {
        for (unsigned i = 0; i < BLOCKS; i++) {
            struct xs_cached_list evicted = {0};
            const uint64_t key = xs_cache_key(512 * (1 + i / 2), 1);
            xs_cache_make_bin(cache, key, &evicted);
            assert_int_equal(evicted.count, 0);
            assert_true(xs_cache_push(cache, live(i, key)));
        }
        assert_int_equal(take_all(&n).count, BLOCKS);
        assert_int_equal(xs_cache_bytes(cache), 0);
        assert_int_equal(cache->filled, 0);
        assert_int_equal(take_all(&n).count, 0);
    }
}

static void every_byte_is_counted(void **state)
{
    (void)state;
    struct xs_cache_counts n;
    const uint64_t key = bin_for(SMALL);
    xs_cache_book_alloc(cache, 4000, SMALL);
    xs_cache_book_alloc(cache, 1000, 1024);
    live(0, key)->requested = 4000;
    assert_true(xs_cache_push(cache, &blocks[0]));
    assert_non_null(xs_cache_pop(cache, key, 3000, false));
    xs_cache_book_free(cache, 1000, 1024);
    xs_cache_take_counts(cache, &n);
    assert_int_equal(n.blocks.in, 3);
    assert_int_equal(n.misses, 2);
    assert_int_equal(xs_tally_out(&n.blocks), 2);
    assert_int_equal(n.requested.net, 3000);
    assert_int_equal(n.allocated.net, SMALL);
    assert_int_equal(n.requested.peak, 5000);
    assert_int_equal(n.allocated.peak, SMALL + 1024);
    xs_cache_take_counts(cache, &n);
    assert_int_equal(
        n.blocks.in + xs_tally_out(&n.blocks) + n.requested.in + xs_tally_out(&n.allocated), 0);
}

static void new_generation_wants_a_refresh(void **state)
{
    (void)state;
    assert_true(xs_cache_is_current(cache) && xs_cache_is_ready(cache));
    *xs_cache_stream_slot(cache, NULL) = (struct xs_cache_stream){.handle = NULL};
    shared.generation++;
    assert_false(xs_cache_is_current(cache) || xs_cache_is_ready(cache));
    xs_cache_refresh(cache, &policy, true);
    assert_true(xs_cache_is_ready(cache));
    assert_true(xs_cache_stream_slot(cache, NULL)->handle == XS_CACHE_NO_STREAM);
}

static void rounding_takes_the_longer_path(void **state)
{
    (void)state;
    policy.roundup_power2_divisions[3] = 4;
    xs_cache_refresh(cache, &policy, true);
    assert_true(xs_cache_is_current(cache));
    assert_false(xs_cache_is_ready(cache));
}

/* Bins outlive a change of policy; a cache that is switched off takes nothing all the same. */
static void switched_off_it_takes_nothing(void **state)
{
    (void)state;
    struct xs_cache_counts n;
    const uint64_t key = bin_for(SMALL);
    assert_true(xs_cache_push(cache, live(0, key)));
    take_all(&n);
    xs_cache_refresh(cache, &policy, false);
    assert_false(xs_cache_is_ready(cache));
    assert_false(xs_cache_push(cache, live(0, key)));
}

/* ---- beside the owner -------------------------------------------------------------------------- */

static _Atomic bool stop;
static uint64_t shared_key;

#define TAKES 500 /* at least, beside the owner */

struct taken {
    _Atomic unsigned takes;
    uint64_t blocks, allocs, frees;
};

static void *take_from_beside(void *arg)
{
    struct taken *taken = arg;
    while (!atomic_load(&stop)) {
        struct xs_cached_list out = {0};
        struct xs_cache_counts n;
        taken->takes++;
        xs_cache_take_all(cache, false, &out, &n);
        taken->allocs += n.blocks.in;
        taken->frees += xs_tally_out(&n.blocks);
        for (struct xs_block *b = out.head, *next; b; b = next) {
            next = b->next_cached;
            taken->blocks++;
            xs_block_set_state(b, XS_BLOCK_LIVE); /* the owner's again */
        }
    }
    return NULL;
}

/* Every push is met by a pop or a take of the other thread, and every count is taken once. */
static void owner_and_taker_share_all(void **state)
{
    (void)state;
    struct taken taken = {0, 0, 0, 0};
    pthread_t thread;
    uint64_t pushed = 0, popped = 0;
    shared_key = bin_for(SMALL);
    stop = false;
    for (unsigned i = 0; i < BLOCKS; i++)
        live(i, shared_key);
    assert_int_equal(pthread_create(&thread, NULL, take_from_beside, &taken), 0);
    for (unsigned i = 0; atomic_load(&taken.takes) < TAKES; i++) {
        struct xs_block *b = &blocks[i % BLOCKS];
        if (xs_block_state_of(b) == XS_BLOCK_LIVE)
            pushed += xs_cache_push(cache, b);
        popped += i % 3 == 0 && xs_cache_pop(cache, shared_key, 1, false);
    }
    atomic_store(&stop, true);
    pthread_join(thread, NULL);
    struct xs_cache_counts n;
    const struct xs_cached_list rest = take_all(&n);
    assert_int_equal(pushed, popped + taken.blocks + rest.count);
    assert_int_equal(pushed, taken.frees + xs_tally_out(&n.blocks));
    assert_int_equal(popped, taken.allocs + n.blocks.in);
}

#define cache_test(f) cmocka_unit_test_setup_teardown(f, make, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(key_holds_size_and_stream),
        cache_test(last_in_is_first_out),
        cache_test(only_its_own_key_is_served),
        cache_test(what_is_not_live_is_refused),
        cache_test(bin_takes_no_more_than_its_limit),
        cache_test(thread_that_only_frees_keeps_little),
        cache_test(bytes_are_bounded),
        cache_test(less_used_rival_makes_room),
        cache_test(filled_bin_gives_all_it_got),
        cache_test(filled_bin_keeps_to_the_bytes),
        cache_test(small_blocks_stay_when_large_ones_go),
        cache_test(take_all_leaves_nothing_but_works_on),
        cache_test(every_byte_is_counted),
        cache_test(new_generation_wants_a_refresh),
        cache_test(rounding_takes_the_longer_path),
        cache_test(switched_off_it_takes_nothing),
        cache_test(owner_and_taker_share_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
