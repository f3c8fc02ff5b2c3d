/* Values of each type: booleans, numbers, address space. */
#include "conf_fixture.h"

static void booleans(void **state)
{
    static const char *const bad[] = {"TRUE",  "1", "0",        "yes", "tRue",
                                      "Truee", "T", "\"True\"", "none"};
    char text[64];
    (void)state;
    expect_fine("cross_stream_wait:true");
    assert_true(policy.cross_stream_wait);
    expect_fine("cross_stream_wait:false");
    assert_false(policy.cross_stream_wait);
    expect_fine("gpu_direct_rdma:true");
    assert_int_equal(policy.gpu_direct_rdma, XS_RDMA_ON);
    for (size_t i = 0; i < XS_COUNT_OF(bad); i++) {
        snprintf(text, sizeof(text), "expandable_segments:%s", bad[i]);
        assert_int_equal(apply(text), XSEG_ERROR_CONFIG);
        expect_line("column 21: expandable_segments: '");
        expect_line("must be False or True");
    }
}

static void numbers(void **state)
{
    (void)state;
    expect_fine("garbage_collection_threshold:.5");
    assert_true(policy.garbage_collection_threshold == 0.5);
    expect_fine("garbage_collection_threshold:5e-1");
    assert_true(policy.garbage_collection_threshold == 0.5);
    expect_fine("garbage_collection_threshold:0.1");
    assert_true(policy.garbage_collection_threshold == 0.1);
    expect_fine("per_process_memory_fraction:1.");
    assert_true(policy.per_process_memory_fraction == 1.0);
    expect_fine("per_process_memory_fraction:0.123456789012345");
    assert_true(policy.per_process_memory_fraction == 0.123456789012345);
    expect_fine("per_process_memory_fraction:0.33333333333333333333333333333333333333333333333333");
    assert_true(policy.per_process_memory_fraction == 0.333333333333333);
    expect_fine("memory_limit:unlimited,max_split_size_mb:unlimited");
    assert_true(policy.memory_limit == SIZE_MAX && policy.max_split_size == SIZE_MAX);
}

/* ---- reserve: PyTorch's lenient key ---- */

static void a_reserve(void **state)
{
    static const struct {
        const char *text;
        size_t bytes;
        double share;
    } cases[] = {
        {"0.5", 0, 0.5},
        {"40G", 40 * XS_GIB, 0},
        {"40g", 40 * XS_GIB, 0},
        {"2", 0, 1.125},
        {"1e-2", 0, 0.01},
        {"1.5G", 3 * XS_GIB / 2, 0},
        {"1e20G", (size_t)1 << 62, 0},
        {"auto", 0, 0},
        {"512M", 512 * XS_MIB, 0},
        {"1e300", 0, 1.125},
        {"0.0001G", XS_MIB, 0},
    };
    char text[80];
    (void)state;
    for (size_t i = 0; i < XS_COUNT_OF(cases); i++) {
        snprintf(text, sizeof(text), "expandable_segments_reserve:%s", cases[i].text);
        expect_fine(text);
        expect_counts(0, 0, 0);
        assert_int_equal(policy.expandable_segments_reserve.bytes, cases[i].bytes);
        assert_true(policy.expandable_segments_reserve.share == cases[i].share);
    }
}

static void a_bad_reserve_is_noted_and_the_rest_applies(void **state)
{
    static const char *const bad[] = {"0",    "-1", "nan", "inf",  "G",  "0G", "40GB",
                                      "4 0G", "x",  "1e",  "0x1G", "0M", "M"};
    char text[80];
    (void)state;
    for (size_t i = 0; i < XS_COUNT_OF(bad); i++) {
        expect_fine("expandable_segments_reserve:0.25,extent_share:1");
        snprintf(text, sizeof(text), "expandable_segments_reserve:%s,extent_share:3", bad[i]);
        expect_fine(text);
        expect_counts(1, 0, 0);
        expect_line("column 29: expandable_segments_reserve: '");
        expect_line("ignored");
        assert_true(policy.expandable_segments_reserve.share == 0.25);
        assert_int_equal(policy.extent_share, 3);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(booleans),
        TEST(numbers),
        TEST(a_reserve),
        TEST(a_bad_reserve_is_noted_and_the_rest_applies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
