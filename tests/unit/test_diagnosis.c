/* Each verdict with its opposite, lifetimes, and advice, on made-up snapshots. */
#include "unit.h"

#include "report/diagnosis.h"

#define BASE ((uint64_t)1 << 40)
#define GIB  XS_GIB
#define MIB  XS_MIB

static struct xs_snapshot snapshot;
static struct xs_diagnosis diagnosis;
static uint64_t at;

/* A device of 80 GiB, of which others hold half a GiB; expandable segments. */
static int begin(void **state)
{
    (void)state;
    memset(&snapshot, 0, sizeof(snapshot));
    snapshot.is_ours = true;
    snapshot.stats.device_total_bytes = 80 * GIB;
    snapshot.stats.other_bytes = GIB / 2;
    snapshot.stats.limit_bytes = UINT64_MAX;
    strcpy(snapshot.settings,
           "expandable_segments:True,roundup_power2_divisions:off,extent_max:128M,");
    at = BASE;
    return 0;
}

static int end(void **state)
{
    (void)state;
    xs_snapshot_drop(&snapshot);
    return 0;
}

static struct xs_snap_block *add(enum xs_snap_state state, uint64_t bytes, uint64_t age_ms)
{
    struct xs_snap_block *b = xs_snapshot_add_block(&snapshot);
    assert_non_null(b);
    *b =
        (struct xs_snap_block){.va = at, .bytes = bytes, .age_ms = age_ms, .state = (uint8_t)state};
    b->requested = state <= XS_SNAP_WAITING ? bytes : 0;
    b->passed = state == XS_SNAP_FREE;
    at += bytes;
    snapshot.stats.reserved_bytes.current += bytes;
    return b;
}

/* All blocks so far lie in extents of this size. */
static void add_extents(uint64_t bytes)
{
    for (uint64_t va = BASE; va < at; va += bytes) {
        struct xs_snap_extent *e = xs_snapshot_add_extent(&snapshot);
        assert_non_null(e);
        *e = (struct xs_snap_extent){va, bytes};
    }
    struct xs_snap_segment *segment = xs_snapshot_add_segment(&snapshot);
    *segment = (struct xs_snap_segment){
        .va = BASE, .bytes = at - BASE, .n_blocks = snapshot.n_blocks, .is_expandable = true};
}

static enum xs_verdict ask(uint64_t bytes, uint64_t obtainable)
{
    struct xs_refusal refusal = {.requested = bytes, .bytes = bytes};
    uint64_t used = snapshot.stats.reserved_bytes.current + snapshot.stats.other_bytes;
    snapshot.stats.device_free_bytes = snapshot.stats.device_total_bytes - used;
    snapshot.stats.largest_obtainable_bytes = obtainable;
    xs_diagnose(&diagnosis, &snapshot, &refusal);
    return diagnosis.verdict;
}

static unsigned advices(void)
{
    unsigned n = 0;
    for (unsigned i = 0; i < XS_ADVICE_COUNT; i++)
        n += diagnosis.advice[i];
    return n;
}

static bool text_has(const char *part)
{
    static char text[16384];
    struct xs_out_string string = {text, sizeof(text), 0};
    struct xs_out out;
    xs_out_begin(&out, xs_out_to_text, &string);
    xs_diagnosis_print_text(&out, &diagnosis, 4);
    assert_true(xs_out_end(&out));
    return strstr(text, part) != NULL;
}

/* ---- verdicts --------------------------------------------------------------------------------- */

static void nothing_refused_is_no_verdict(void **state)
{
    (void)state;
    add(XS_SNAP_LIVE, 70 * GIB, 0);
    assert_int_equal(ask(0, 9 * GIB), XS_VERDICT_NONE);
    assert_int_equal(advices(), 0);
}

static void live_memory_is_full_and_not_fragmentation(void **state)
{
    (void)state;
    add(XS_SNAP_LIVE, 78 * GIB, 0);
    add(XS_SNAP_FREE, GIB, 0);
    assert_int_equal(ask(4 * GIB, GIB), XS_VERDICT_FULL);
    assert_true(text_has("This is not fragmentation."));
    assert_false(diagnosis.advice[XS_ADVICE_EXPANDABLE]);
    assert_false(diagnosis.advice[XS_ADVICE_SMALL_EXTENTS]);
    assert_false(diagnosis.advice[XS_ADVICE_BUCKETS]);
}

/* 35 GiB live, 35 GiB free between them, in extents of 128 MiB that each hold a live block. */
static void add_scraps(void)
{
    for (unsigned i = 0; i < 560; i++) {
        add(XS_SNAP_LIVE, 64 * MIB, 100);
        add(XS_SNAP_FREE, 64 * MIB, 0);
    }
    add_extents(128 * MIB);
}

static void free_memory_between_live_blocks_is_fragmentation(void **state)
{
    (void)state;
    add_scraps();
    assert_int_equal(ask(20 * GIB, 9 * GIB), XS_VERDICT_FRAGMENTATION);
    assert_int_equal(diagnosis.all_pins, 560);
    assert_int_equal(diagnosis.n_pins, XS_PINS_MAX);
    assert_int_equal(diagnosis.recoverable, 35 * GIB);
    assert_int_equal(diagnosis.pins[0].free_bytes, 64 * MIB);
    assert_int_equal(diagnosis.pins[0].block.bytes, 64 * MIB);
    assert_true(text_has("pinned by 0x10000000000 (64.00 MiB)"));
    assert_true(text_has("this is fragmentation"));
    assert_false(diagnosis.advice[XS_ADVICE_PERSISTENT]);
    assert_false(diagnosis.advice[XS_ADVICE_TRANSIENT]);
}

static void small_extents_are_advised_only_where_they_would_do(void **state)
{
    (void)state;
    add_scraps();
    ask(20 * GIB, 9 * GIB);
    assert_true(diagnosis.advice[XS_ADVICE_SMALL_EXTENTS]);
    assert_false(diagnosis.advice[XS_ADVICE_EXPANDABLE]); /* it is on: R29 */
    assert_true(text_has("extent_max:2M would make up to 35.00 GiB usable"));
    strcpy(snapshot.settings, "expandable_segments:True,extent_max:2M,");
    ask(20 * GIB, 9 * GIB);
    assert_int_equal(advices(), 0);
}

static void scraps_below_a_granule_help_nobody(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 35840; i++) {
        add(XS_SNAP_LIVE, MIB, 100);
        add(XS_SNAP_FREE, MIB, 0);
    }
    add_extents(128 * MIB);
    assert_int_equal(ask(20 * GIB, 9 * GIB), XS_VERDICT_FRAGMENTATION);
    assert_int_equal(diagnosis.recoverable_by_granules, 0);
    assert_false(diagnosis.advice[XS_ADVICE_SMALL_EXTENTS]);
}

static void classic_segments_get_the_advice_that_would_help(void **state)
{
    (void)state;
    add_scraps();
    snapshot.segments[0].is_expandable = false;
    snapshot.n_extents = 0;
    strcpy(snapshot.settings, "expandable_segments:False,");
    assert_int_equal(ask(20 * GIB, 9 * GIB), XS_VERDICT_FRAGMENTATION);
    assert_true(diagnosis.advice[XS_ADVICE_EXPANDABLE]);
    assert_false(diagnosis.advice[XS_ADVICE_SMALL_EXTENTS]);
    assert_true(text_has("expandable_segments:True would make up to 35.00 GiB usable"));
    ask(44 * GIB + 600 * MIB, 9 * GIB); /* more than even that would give */
    assert_false(diagnosis.advice[XS_ADVICE_EXPANDABLE]);
}

/* 20 GiB live, 40 GiB free in two pools. */
static void add_pools(bool held)
{
    for (unsigned i = 1; i <= 2; i++) {
        add(XS_SNAP_LIVE, 10 * GIB, 100);
        add(XS_SNAP_FREE, 20 * GIB, 0);
        *xs_snapshot_add_segment(&snapshot) = (struct xs_snap_segment){
            .va = at - 30 * GIB,
            .bytes = 30 * GIB,
            .first_block = 2 * (i - 1),
            .n_blocks = 2,
            .pool = i,
            .is_held = held,
            .is_expandable = true,
        };
    }
}

static void what_pools_hold_is_no_fragmentation(void **state)
{
    (void)state;
    add_pools(true);
    assert_int_equal(ask(30 * GIB, 19 * GIB), XS_VERDICT_POOLS);
    assert_int_equal(diagnosis.held_pools, 2);
    assert_int_equal(diagnosis.held_free, 40 * GIB);
    assert_true(text_has("40.00 GiB are free in 2 private pools that are held"));
    assert_true(text_has("pools        2 held, 40.00 GiB free in them"));
    assert_true(diagnosis.advice[XS_ADVICE_POOLS]);
    assert_int_equal(advices(), 1);
}

static void pools_that_are_not_held_keep_nothing(void **state)
{
    (void)state;
    add_pools(false);
    assert_int_equal(ask(30 * GIB, 19 * GIB), XS_VERDICT_FRAGMENTATION);
    assert_false(text_has("pools"));
    assert_false(diagnosis.advice[XS_ADVICE_POOLS]);
}

/* A pool's own free memory is not kept from its requests. */
static void a_request_of_a_pool_has_its_own(void **state)
{
    (void)state;
    add_pools(true);
    ask(30 * GIB, 19 * GIB);
    struct xs_refusal refusal = {.requested = 50 * GIB, .bytes = 50 * GIB, .pool = 2};
    xs_diagnose(&diagnosis, &snapshot, &refusal);
    assert_int_equal(diagnosis.held_pools, 1);
    assert_int_equal(diagnosis.held_free, 20 * GIB);
}

static void pools_are_not_to_blame_where_they_would_not_do(void **state)
{
    (void)state;
    add_pools(true);
    assert_int_equal(ask(70 * GIB, 19 * GIB), XS_VERDICT_FULL);
    assert_false(diagnosis.advice[XS_ADVICE_POOLS]);
    assert_true(text_has("2 held")); /* said all the same */
}

static void many_sizes_are_advised_into_buckets(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 100; i++) {
        add(XS_SNAP_LIVE, 256 * MIB + i * 512, 0);
        add(XS_SNAP_FREE, 512 * MIB - i * 512, 0);
    }
    add_extents(768 * MIB);
    assert_int_equal(ask(30 * GIB, 3 * GIB), XS_VERDICT_FRAGMENTATION);
    assert_true(diagnosis.advice[XS_ADVICE_BUCKETS]);
    strcpy(snapshot.settings, "expandable_segments:True,roundup_power2_divisions:8,");
    ask(30 * GIB, 3 * GIB);
    assert_false(diagnosis.advice[XS_ADVICE_BUCKETS]);
}

static void a_limit_below_the_device_is_to_blame(void **state)
{
    (void)state;
    add(XS_SNAP_LIVE, 30 * GIB, 0);
    snapshot.stats.limit_bytes = 32 * GIB;
    assert_int_equal(ask(4 * GIB, 2 * GIB), XS_VERDICT_LIMIT);
    assert_true(diagnosis.advice[XS_ADVICE_LIMIT]);
    assert_true(text_has("by 2.00 GiB"));
    snapshot.stats.limit_bytes = 79 * GIB;
    assert_int_equal(ask(51 * GIB, 49 * GIB), XS_VERDICT_FULL);
    assert_false(diagnosis.advice[XS_ADVICE_LIMIT]);
}

static void others_on_the_device_are_to_blame(void **state)
{
    (void)state;
    snapshot.stats.other_bytes = 50 * GIB;
    add(XS_SNAP_LIVE, 20 * GIB, 0);
    assert_int_equal(ask(15 * GIB, 10 * GIB), XS_VERDICT_OTHERS);
    assert_true(diagnosis.advice[XS_ADVICE_OTHERS]);
    assert_int_equal(advices(), 1);
    assert_true(text_has("Others hold 50.00 GiB"));
    assert_int_equal(ask(70 * GIB, 10 * GIB), XS_VERDICT_FULL); /* nor without them */
}

static void what_the_gpu_still_has_is_waited_for(void **state)
{
    (void)state;
    add(XS_SNAP_LIVE, 40 * GIB, 0);
    add(XS_SNAP_WAITING, 38 * GIB, 0);
    assert_int_equal(ask(10 * GIB, 3 * GIB / 2), XS_VERDICT_WAITING);
    assert_true(diagnosis.advice[XS_ADVICE_SYNCHRONISE]);
    assert_int_equal(ask(GIB, 3 * GIB / 2), XS_VERDICT_WAITING);
    assert_int_equal(ask(50 * GIB, 3 * GIB / 2), XS_VERDICT_FULL); /* nor after it */
}

static void the_drivers_word_is_passed_on(void **state)
{
    (void)state;
    struct xs_refusal refusal = {.requested = GIB,
                                 .bytes = GIB,
                                 .call = "cuMemMap",
                                 .arguments = "0x10, 2097152",
                                 .code_name = "CUDA_ERROR_INVALID_VALUE",
                                 .code = 1};
    add(XS_SNAP_LIVE, 10 * GIB, 0);
    ask(GIB, 60 * GIB);
    xs_diagnose(&diagnosis, &snapshot, &refusal);
    assert_int_equal(diagnosis.verdict, XS_VERDICT_DRIVER);
    assert_true(text_has("cuMemMap(0x10, 2097152) returned CUDA_ERROR_INVALID_VALUE"));
    refusal.is_out_of_memory = true; /* and yet there is enough: R31 */
    xs_diagnose(&diagnosis, &snapshot, &refusal);
    assert_int_equal(diagnosis.verdict, XS_VERDICT_DRIVER);
    snapshot.blocks[0].bytes = 79 * GIB;
    xs_diagnose(&diagnosis, &snapshot, &refusal);
    assert_int_equal(diagnosis.verdict, XS_VERDICT_FULL);
}

static void a_device_that_does_not_say_is_unknown(void **state)
{
    (void)state;
    add(XS_SNAP_LIVE, 79 * GIB, 0);
    ask(2 * GIB, 0);
    snapshot.stats.device_free_bytes = snapshot.stats.other_bytes = UINT64_MAX;
    xs_diagnose(&diagnosis, &snapshot, &diagnosis.refusal);
    assert_int_equal(diagnosis.verdict, XS_VERDICT_FULL);
    assert_true(text_has("not ours unknown"));
}

/* ---- lifetimes -------------------------------------------------------------------------------- */

/* Parameters at first, optimizer state after the first step, and the activations of the present one. */
static void add_training(uint64_t parameters, uint64_t state, uint64_t activations)
{
    for (unsigned i = 0; i < 16; i++)
        add(XS_SNAP_LIVE, parameters / 16, 60000 - i * 300);
    for (unsigned i = 0; i < 16; i++)
        add(XS_SNAP_LIVE, state / 16, 50000 - i);
    for (unsigned i = 0; i < 128; i++)
        add(XS_SNAP_LIVE, activations / 128, 500 - i * 3);
}

static void parameters_and_activations_are_told_apart(void **state)
{
    (void)state;
    add_training(30 * GIB, 30 * GIB, 10 * GIB);
    ask(20 * GIB, GIB);
    assert_true(diagnosis.lifetimes.known);
    assert_int_equal(diagnosis.lifetimes.persistent, 60 * GIB);
    assert_int_equal(diagnosis.lifetimes.transient, 10 * GIB);
    assert_int_equal(diagnosis.lifetimes.border_ms, 50000 - 15);
    assert_int_equal(diagnosis.verdict, XS_VERDICT_FULL);
    assert_true(diagnosis.advice[XS_ADVICE_PERSISTENT]);
    assert_false(diagnosis.advice[XS_ADVICE_TRANSIENT]);
    assert_true(text_has("LoRA"));
    assert_false(text_has("checkpointing"));
}

static void mostly_activations_get_the_other_advice(void **state)
{
    (void)state;
    add_training(5 * GIB, 10 * GIB, 60 * GIB);
    ask(20 * GIB, GIB);
    assert_int_equal(diagnosis.lifetimes.transient, 60 * GIB);
    assert_true(diagnosis.advice[XS_ADVICE_TRANSIENT]);
    assert_false(diagnosis.advice[XS_ADVICE_PERSISTENT]);
    assert_true(text_has("checkpointing"));
    assert_false(text_has("LoRA"));
}

static void what_cannot_be_told_apart_gets_no_advice(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 100; i++) /* as in the very first step */
        add(XS_SNAP_LIVE, 3 * GIB / 4, 1000 - i * 10);
    assert_int_equal(ask(20 * GIB, GIB), XS_VERDICT_FULL);
    assert_false(diagnosis.lifetimes.known);
    assert_int_equal(advices(), 0);
    assert_true(text_has("cannot be told apart"));
}

static void unknown_ages_do_not_count(void **state)
{
    (void)state;
    add(XS_SNAP_LIVE, 40 * GIB, UINT64_MAX);
    add(XS_SNAP_LIVE, 30 * GIB, UINT64_MAX);
    ask(20 * GIB, GIB);
    assert_false(diagnosis.lifetimes.known);
}

static void batch_one_is_the_persistent_part_and_a_share_of_the_rest(void **state)
{
    (void)state;
    uint64_t bytes;
    add_training(20 * GIB, 20 * GIB, 30 * GIB);
    ask(10 * GIB, GIB);
    assert_true(xs_diagnosis_batch_one(&diagnosis, 4, &bytes));
    assert_int_equal(bytes, 50 * GIB);
    assert_true(text_has("would take 50.00 GiB of 79.50 GiB: it fits"));
    assert_false(xs_diagnosis_batch_one(&diagnosis, 0, &bytes));
    end(NULL);
    begin(NULL);
    add_training(40 * GIB, 38 * GIB, GIB);
    ask(10 * GIB, GIB);
    assert_true(text_has("it does not fit"));
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(nothing_refused_is_no_verdict),
        TEST(live_memory_is_full_and_not_fragmentation),
        TEST(free_memory_between_live_blocks_is_fragmentation),
        TEST(small_extents_are_advised_only_where_they_would_do),
        TEST(scraps_below_a_granule_help_nobody),
        TEST(classic_segments_get_the_advice_that_would_help),
        TEST(what_pools_hold_is_no_fragmentation),
        TEST(pools_that_are_not_held_keep_nothing),
        TEST(a_request_of_a_pool_has_its_own),
        TEST(pools_are_not_to_blame_where_they_would_not_do),
        TEST(many_sizes_are_advised_into_buckets),
        TEST(a_limit_below_the_device_is_to_blame),
        TEST(others_on_the_device_are_to_blame),
        TEST(what_the_gpu_still_has_is_waited_for),
        TEST(the_drivers_word_is_passed_on),
        TEST(a_device_that_does_not_say_is_unknown),
        TEST(parameters_and_activations_are_told_apart),
        TEST(mostly_activations_get_the_other_advice),
        TEST(what_cannot_be_told_apart_gets_no_advice),
        TEST(unknown_ages_do_not_count),
        TEST(batch_one_is_the_persistent_part_and_a_share_of_the_rest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
