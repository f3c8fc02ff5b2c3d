/* Rounding of requests and choice of classic segments: PyTorch's rules to the byte. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "policy/size_class.h"

static struct xs_policy policy_of(const char *conf)
{
    struct xs_policy policy;
    struct xs_conf_report report = {.kept = 0};
    xs_policy_defaults(&policy);
    assert_int_equal(xs_policy_apply(&policy, conf, "test", &report), XSEG_OK);
    return policy;
}

static void expect_slots(const char *conf, const size_t (*want)[XS_ROUNDUP_SLOTS])
{
    struct xs_policy policy = policy_of(conf);
    for (size_t i = 0; i < XS_ROUNDUP_SLOTS; i++)
        if (policy.roundup_power2_divisions[i] != (*want)[i])
            fail_msg("%s: slot %zu is %zu, not %zu", conf, i, policy.roundup_power2_divisions[i],
                     (*want)[i]);
}

static void each_slot_is_filled_as_pytorch_does(void **state)
{
    static const struct {
        const char *list;
        size_t slots[XS_ROUNDUP_SLOTS];
    } cases[] = {
        {"off", {0}},
        {"4", {4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4}},
        {"1", {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}},
        {"[256:1,512:2,1024:4,>:8]", {1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 4, 8, 8, 8, 8, 8}},
        /* 1024 is skipped and stays 0 */
        {"[64:8,128:2,256:4,512:2,2048:8,>:2]", {8, 8, 8, 8, 8, 8, 8, 2, 4, 2, 0, 8, 2, 2, 2, 2}},
        {"[128:8,256:16,512:1,2048:8,>:2]", {8, 8, 8, 8, 8, 8, 8, 8, 16, 1, 0, 8, 2, 2, 2, 2}},
        {"[1:2]", {2}},
        {"[65536:2]", {2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2}},
        {"[256:0,>:2]", {0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 2, 2, 2, 2, 2, 2}},
        /* '>' begins above the entry before it, even if there is none */
        {"[>:2]", {0, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2}},
        {"[ 256 : 4 , > : 2 , ]", {4, 4, 4, 4, 4, 4, 4, 4, 4, 2, 2, 2, 2, 2, 2, 2}},
    };
    char conf[128];
    (void)state;
    for (size_t i = 0; i < XS_COUNT_OF(cases); i++) {
        snprintf(conf, sizeof(conf), "roundup_power2_divisions:%s", cases[i].list);
        expect_slots(conf, &cases[i].slots);
    }
}

static void slots_change_at_powers_of_two(void **state)
{
    (void)state;
    assert_int_equal(xs_roundup_slot(0), 0);
    assert_int_equal(xs_roundup_slot(1), 0);
    assert_int_equal(xs_roundup_slot(2 * XS_MIB - 1), 0);
    for (size_t slot = 1; slot < XS_ROUNDUP_SLOTS; slot++) {
        assert_int_equal(xs_roundup_slot(XS_MIB << slot), slot);
        assert_int_equal(xs_roundup_slot((XS_MIB << slot) - 1), slot - 1);
        assert_int_equal(xs_roundup_slot((XS_MIB << slot) + 1), slot);
    }
    assert_int_equal(xs_roundup_slot(kRequestMax - 1), XS_ROUNDUP_SLOTS - 1);
}

static void without_divisions_requests_are_multiples_of_512(void **state)
{
    static const struct {
        size_t bytes, rounded;
    } cases[] = {
        {0, 512},
        {1, 512},
        {511, 512},
        {512, 512},
        {513, 1024},
        {1024, 1024},
        {1025, 1536},
        {XS_MIB, XS_MIB},
        {XS_MIB + 1, XS_MIB + 512},
        {XS_GIB, XS_GIB},
        {((size_t)1 << 60) - 1, (size_t)1 << 60},
    };
    struct xs_policy policy = policy_of("");
    struct xs_policy ones = policy_of("roundup_power2_divisions:1");
    struct xs_policy all_ones = policy_of("roundup_power2_divisions:[>:1]");
    (void)state;
    for (size_t i = 0; i < XS_COUNT_OF(cases); i++) {
        assert_int_equal(xs_policy_round(&policy, cases[i].bytes), cases[i].rounded);
        assert_int_equal(xs_policy_round(&ones, cases[i].bytes), cases[i].rounded);
        assert_int_equal(xs_policy_round(&all_ones, cases[i].bytes), cases[i].rounded);
    }
}

/* R22: [256:1,512:2,1024:4,>:8] at each edge, one byte below, at and above. */
static void divisions_at_each_edge(void **state)
{
    static const struct {
        size_t bytes, rounded;
    } cases[] = {
        {514 * XS_MIB, 768 * XS_MIB},
        {512 * XS_MIB - 1, 512 * XS_MIB}, /* slot 8: 1, no rounding */
        {300 * XS_MIB + 1, 300 * XS_MIB + 512},
        {512 * XS_MIB, 512 * XS_MIB},
        {512 * XS_MIB + 1, 768 * XS_MIB},
        {768 * XS_MIB, 768 * XS_MIB},
        {768 * XS_MIB + 1, XS_GIB},
        {XS_GIB - 1, XS_GIB},
        {XS_GIB, XS_GIB},
        {XS_GIB + 1, XS_GIB / 4 * 5},
        {XS_GIB / 4 * 5, XS_GIB / 4 * 5},
        {XS_GIB / 4 * 5 + 1, XS_GIB / 2 * 3},
        {2 * XS_GIB - 1, 2 * XS_GIB},
        {2 * XS_GIB, 2 * XS_GIB},
        {2 * XS_GIB + 1, 2 * XS_GIB + 2 * XS_GIB / 8},
        {((size_t)1 << 59) + 1, ((size_t)1 << 59) / 8 * 9},
        {((size_t)1 << 60) - 1, (size_t)1 << 60},
    };
    struct xs_policy policy = policy_of("roundup_power2_divisions:[256:1,512:2,1024:4,>:8]");
    (void)state;
    for (size_t i = 0; i < XS_COUNT_OF(cases); i++)
        assert_int_equal(xs_policy_round(&policy, cases[i].bytes), cases[i].rounded);
}

static void divisions_count_above_512_times_their_number(void **state)
{
    struct xs_policy four = policy_of("roundup_power2_divisions:4");
    struct xs_policy huge = policy_of("roundup_power2_divisions:9223372036854775808");
    (void)state;
    assert_int_equal(xs_policy_round(&four, 1200), 1536);
    assert_int_equal(xs_policy_round(&four, 2048), 2048);
    assert_int_equal(xs_policy_round(&four, 2049), 2560);
    assert_int_equal(xs_policy_round(&four, 2561), 3072);
    assert_int_equal(xs_policy_round(&four, 1200 * XS_KIB), 1280 * XS_KIB);
    assert_int_equal(xs_policy_round(&four, 84 * XS_MIB), 96 * XS_MIB);
    assert_int_equal(xs_policy_round(&huge, 84 * XS_MIB + 1), 84 * XS_MIB + 512);
}

/* Against the plain statement of the rule, at random. */
static void rounding_obeys_its_laws(void **state)
{
    struct xs_policy policy = policy_of("roundup_power2_divisions:[4:2,8:4,16:8,32:16,64:1,>:4]");
    uint64_t seed = 1;
    (void)state;
    for (int i = 0; i < 200000; i++) {
        seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        size_t bytes = (size_t)(seed >> 5) >> (seed % 59);
        if (bytes >= kRequestMax)
            continue;
        size_t rounded = xs_policy_round(&policy, bytes);
        assert_true(rounded >= bytes && rounded >= 512 && rounded % 512 == 0);
        if (rounded < kRequestMax) /* what is rounded stays as it is */
            assert_int_equal(xs_policy_round(&policy, rounded), rounded);
        if (bytes > 512)
            assert_true(rounded <= bytes + bytes / 2 + 512);
    }
}

static void classic_segments(void **state)
{
    static const struct {
        size_t rounded, segment;
    } cases[] = {
        {512, 2 * XS_MIB},           {XS_MIB, 2 * XS_MIB},
        {XS_MIB + 512, 20 * XS_MIB}, {10 * XS_MIB - 512, 20 * XS_MIB},
        {10 * XS_MIB, 10 * XS_MIB},  {10 * XS_MIB + 512, 12 * XS_MIB},
        {12 * XS_MIB, 12 * XS_MIB},  {XS_GIB + 512, XS_GIB + 2 * XS_MIB},
    };
    struct xs_policy policy = policy_of("large_segment_size_mb:20");
    struct xs_policy large = policy_of("large_segment_size_mb:32");
    (void)state;
    for (size_t i = 0; i < XS_COUNT_OF(cases); i++)
        assert_int_equal(xs_class_segment_bytes(&policy, cases[i].rounded), cases[i].segment);
    assert_int_equal(xs_class_segment_bytes(&large, 2 * XS_MIB), 32 * XS_MIB);
    assert_true(xs_class_is_small(XS_MIB));
    assert_false(xs_class_is_small(XS_MIB + 512));
}

static void oversize_begins_at_max_split_size(void **state)
{
    struct xs_policy policy = policy_of("max_split_size_mb:64");
    struct xs_policy none = policy_of("");
    (void)state;
    assert_false(xs_class_is_oversize(&policy, 64 * XS_MIB - 512));
    assert_true(xs_class_is_oversize(&policy, 64 * XS_MIB));
    assert_false(xs_class_is_oversize(&none, (size_t)1 << 60));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_slot_is_filled_as_pytorch_does),
        cmocka_unit_test(slots_change_at_powers_of_two),
        cmocka_unit_test(without_divisions_requests_are_multiples_of_512),
        cmocka_unit_test(divisions_at_each_edge),
        cmocka_unit_test(divisions_count_above_512_times_their_number),
        cmocka_unit_test(rounding_obeys_its_laws),
        cmocka_unit_test(classic_segments),
        cmocka_unit_test(oversize_begins_at_max_split_size),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
