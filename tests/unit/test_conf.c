/* The grammar of ALLOC_CONF: what is read, what is refused and in which words, and that it is
 * all or nothing. */
#include "conf_fixture.h"

/* ---- what is read ---- */

static void a_full_string_of_pytorch(void **state)
{
    (void)state;
    expect_fine("expandable_segments:False,large_segment_size_mb:32,max_split_size_mb:100,"
                "max_non_split_rounding_mb:40,garbage_collection_threshold:0.5,"
                "roundup_power2_divisions:[64:8,128:2,256:4,512:2,1024:4,>:1],"
                "per_process_memory_fraction:0.75,throw_on_cudamalloc_oom:True,backend:native,"
                "expandable_segments_reserve:0.5");
    assert_false(policy.expandable_segments);
    assert_int_equal(policy.large_segment_size, 32 * XS_MIB);
    assert_int_equal(policy.max_split_size, 100 * XS_MIB);
    assert_int_equal(policy.max_non_split_rounding, 40 * XS_MIB);
    assert_true(policy.garbage_collection_threshold == 0.5);
    assert_true(policy.per_process_memory_fraction == 0.75);
    assert_int_equal(policy.backend, XS_BACKEND_NATIVE);
    assert_true(policy.expandable_segments_reserve.share == 0.5);
    expect_counts(2, 0, 0); /* a division of 1 is noted, and what is always so */
    expect_line("1 means no rounding");
    expect_line("throw_on_cudamalloc_oom has no effect: always so");
}

static void our_own_keys(void **state)
{
    (void)state;
    expect_fine(
        "memory_limit:1.5GiB,extent_share:8,extent_min:4M,extent_max:64MiB,extent_ahead:0.004,"
        "slack:0,va_reserve:1T,handle_type:fabric,gpu_direct_rdma:False,strict:True,backend:"
        "cudaMalloc");
    assert_int_equal(policy.memory_limit, 3 * XS_GIB / 2);
    assert_int_equal(policy.extent_share, 8);
    assert_int_equal(policy.extent_min, 4 * XS_MIB);
    assert_int_equal(policy.extent_max, 64 * XS_MIB);
    assert_true(policy.extent_ahead == 0.004);
    assert_true(policy.slack == 0.0);
    assert_int_equal(policy.va_reserve, (size_t)1 << 40);
    assert_int_equal(policy.handle_type, XS_HANDLE_FABRIC);
    assert_int_equal(policy.gpu_direct_rdma, XS_RDMA_OFF);
    assert_int_equal(policy.backend, XS_BACKEND_CUDA_MALLOC);
    assert_true(policy.strict && report.strict);
    expect_counts(0, 0, 0);
}

static void blanks_and_commas(void **state)
{
    (void)state;
    expect_fine(" max_split_size_mb : 64 ,\tslack\n:\n0.5 ,");
    assert_int_equal(policy.max_split_size, 64 * XS_MIB);
    expect_counts(0, 0, 0);
    expect_fine("backend:native,");
    expect_counts(0, 0, 0);
    expect_fine("");
    expect_counts(0, 0, 0);
    expect_fine(" ");
    expect_counts(0, 0, 0);
    expect_fine(",");
    expect_counts(1, 0, 0);
    expect_fine("slack:0.1,,extent_share:2");
    expect_counts(1, 0, 0);
    expect_line("column 11: an empty item, ignored");
    assert_int_equal(policy.extent_share, 2);
}

/* ---- resets ---- */

static void four_keys_are_reset_by_each_string_and_the_others_stay(void **state)
{
    (void)state;
    expect_fine("max_split_size_mb:100,roundup_power2_divisions:4,garbage_collection_threshold:0.5,"
                "max_non_split_rounding_mb:50,large_segment_size_mb:30,slack:0.25,expandable_"
                "segments:False");
    expect_fine("extent_share:4");
    assert_true(policy.max_split_size == SIZE_MAX);
    assert_int_equal(policy.roundup_power2_divisions[3], 0);
    assert_true(policy.garbage_collection_threshold == 0);
    assert_int_equal(policy.max_non_split_rounding,
                     30 * XS_MIB); /* follows large_segment_size_mb */
    assert_int_equal(policy.large_segment_size, 30 * XS_MIB);
    assert_true(policy.slack == 0.25);
    assert_false(policy.expandable_segments);
}

static void the_last_of_two_counts_and_is_noted(void **state)
{
    (void)state;
    expect_fine("slack:0.1,slack:0.2");
    assert_true(policy.slack == 0.2);
    expect_counts(1, 0, 0);
    expect_line("column 11: slack is given more than once");
    expect_fine("roundup_power2_divisions:4,roundup_power2_divisions:[512:2]");
    assert_int_equal(policy.roundup_power2_divisions[15], 0); /* nothing of the first is left */
}

static void order_does_not_matter(void **state)
{
    (void)state;
    assert_int_equal(apply("max_split_size_mb:20,large_segment_size_mb:25"), XSEG_ERROR_CONFIG);
    expect_line(
        "column 1: max_split_size_mb:20: must be at least large_segment_size_mb, which is 25");
    assert_int_equal(apply("large_segment_size_mb:25,max_split_size_mb:20"), XSEG_ERROR_CONFIG);
    expect_line("column 26: max_split_size_mb:20");
    expect_fine("max_split_size_mb:25,large_segment_size_mb:25");
    start(NULL);
    assert_int_equal(apply("max_non_split_rounding_mb:19"), XSEG_ERROR_CONFIG);
    assert_int_equal(apply("extent_min:256M,extent_max:64M"), XSEG_ERROR_CONFIG);
    expect_line("column 17: extent_max:64M: must be at least extent_min, which is 256M");
    expect_fine("extent_min:1G,extent_max:1G");
}

/* ---- R18 to R20, R26 ---- */

static void a_path_in_the_variable(void **state)
{
    (void)state;
    expect_fine("C:\\tools\\cudart");
    expect_counts(0, 1, 0);
    expect_line("ALLOC_CONF, column 1: unknown key 'C', skipped (in 'C:\\tools\\cudart')");
    assert_int_equal(apply("/usr/lib"), XSEG_ERROR_CONFIG);
    expect_line(
        "ALLOC_CONF, column 1: '/usr/lib' has no value: expected key:value (in '/usr/lib')");
}

static void unknown_keys_are_skipped_as_a_unit(void **state)
{
    (void)state;
    expect_fine("future_key:[1:2,>:3],max_split_size_mb:64");
    assert_int_equal(policy.max_split_size, 64 * XS_MIB);
    expect_counts(0, 1, 0);
    expect_line("column 1: unknown key 'future_key', skipped");
    expect_fine("expandable_segment:False");
    expect_line("did you mean expandable_segments?");
    expect_fine("expandeable_segments:False");
    expect_line("did you mean expandable_segments?");
    expect_fine("max_split_size:64");
    expect_line("did you mean max_split_size_mb?");
    expect_fine("SLACK:1");
    expect_line("did you mean slack?");
    assert_true(policy.expandable_segments);
}

static void strict_refuses_unknown_keys(void **state)
{
    struct xs_policy before = policy;
    (void)state;
    assert_int_equal(apply("expandeable_segments:True,strict:True"), XSEG_ERROR_CONFIG);
    expect_line("column 1: unknown key 'expandeable_segments'; did you mean expandable_segments?");
    assert_true(report.strict);
    assert_memory_equal(&policy, &before, sizeof(policy));
    expect_fine("strict:true"); /* from an earlier string */
    assert_int_equal(apply("foo:1"), XSEG_ERROR_CONFIG);
    expect_fine("foo:1,strict:False");
    expect_counts(0, 1, 0);
    assert_false(report.strict);
    expect_fine("foo:1");
}

static void strict_is_known_even_of_a_string_that_is_refused(void **state)
{
    (void)state;
    assert_int_equal(apply("slack:2,strict:True"), XSEG_ERROR_CONFIG);
    assert_true(report.strict);
    assert_int_equal(apply("slack:2"), XSEG_ERROR_CONFIG);
    assert_false(report.strict);
}

static void keys_without_effect_are_noted(void **state)
{
    char text[256];
    (void)state;
    for (size_t i = 0; i < xs_ignored_key_count; i++) {
        snprintf(text, sizeof(text), "%s:[a:1,b:2],slack:0.5,strict:True", xs_ignored_keys[i].key);
        expect_fine(text);
        expect_counts(1, 0, 0);
        expect_line(xs_ignored_keys[i].key);
    }
}

/* Each must be diagnosed, and must leave the policy as it was, to the byte. */
static void a_refused_string_changes_nothing(void **state)
{
    static const struct {
        const char *text, *says;
    } cases[] = {
        {"expandable_segments", "column 1: 'expandable_segments' has no value"},
        {"expandable_segments:", "column 1: 'expandable_segments' has no value"},
        {"slack:0.5,expandable_segments: ,", "column 11: 'expandable_segments' has no value"},
        {":True", "column 1: a key is missing before ':'"},
        {":", "column 1: a key is missing"},
        {"slack", "has no value"},
        {"slack,0.5", "column 1: 'slack' has no value"},
        {"cross_stream_wait:True:slack:40", "column 23: cross_stream_wait:True: expected ','"},
        {"roundup_power2_divisions:[256:1,512:2", "column 26: '[' without a ']'"},
        {"roundup_power2_divisions:[]",
         "column 27: roundup_power2_divisions: '': the list is empty"},
        {"roundup_power2_divisions:[ ]", "the list is empty"},
        {"roundup_power2_divisions:[:]", "expected 0 or a power of two"},
        {"roundup_power2_divisions:[256:]", "expected 0 or a power of two"},
        {"roundup_power2_divisions:[:2]", "expected a size in MB"},
        {"roundup_power2_divisions:[256]",
         "column 27: roundup_power2_divisions: '256': expected size:divisions"},
        {"roundup_power2_divisions:[,256:2]", "expected size:divisions"},
        {"roundup_power2_divisions:[256:2,,>:2]", "expected size:divisions"},
        {"roundup_power2_divisions:[256:3]",
         "column 31: roundup_power2_divisions: '3': expected 0 or a power"},
        {"roundup_power2_divisions:[300:2]", "'300': expected a size in MB that is a power of two"},
        {"roundup_power2_divisions:[0:2]", "expected a size in MB that is a power of two"},
        {"roundup_power2_divisions:[256:2:3]", "expected 0 or a power of two"},
        {"roundup_power2_divisions:[[256:2]]", "expected"},
        {"roundup_power2_divisions:[256:-1]", "expected 0 or a power of two"},
        {"roundup_power2_divisions:0", "expected a power of two, a list"},
        {"roundup_power2_divisions:3", "expected a power of two, a list"},
        {"roundup_power2_divisions:[256:1]x", "expected a power of two, a list"},
        {"roundup_power2_divisions:256:1", "expected a power of two, a list"},
        {"]", "column 1: ']' without a '['"},
        {"slack:0.5],extent_share:2", "column 10: ']' without a '['"},
        {"future:[1:2", "column 8: '[' without a ']'"},
        {"future:[[1:2]", "column 8: '[' without a ']'"},
        {"expandable_segments:Tr\nue",
         "column 21: expandable_segments: 'Tr\\x0aue': must be False or True"},
        {"slack:\xc3\xa9", "slack: '\\xc3\\xa9': expected a fraction"},
        {"\xff\xfe", "'\\xff\\xfe' has no value"},
        {"max_split_size_mb:-1",
         "column 19: max_split_size_mb: '-1': expected a whole number of MiB, or unlimited"},
        {"max_split_size_mb:+20", "expected a whole number"},
        {"max_split_size_mb:1e3", "'1e3': expected a whole number"},
        {"max_split_size_mb:20abc", "'20abc': expected a whole number"},
        {"max_split_size_mb:20.5", "expected a whole number"},
        {"max_split_size_mb:0x40", "expected a whole number"},
        {"max_split_size_mb:99999999999999999999", "the number is too large"},
        {"max_split_size_mb:8796093022208", "the number is too large"},
        {"max_split_size_mb:0", "must be at least 1"},
        {"max_split_size_mb:5",
         "column 1: max_split_size_mb:5: must be at least large_segment_size_mb, which is 20"},
        {"max_split_size_mb:19", "must be at least large_segment_size_mb, which is 20"},
        {"max_split_size_mb:2", "must be at least large_segment_size_mb"},
        {"large_segment_size_mb:10", "must be more than 10"},
        {"large_segment_size_mb:unlimited", "expected a whole number of MiB"},
        {"garbage_collection_threshold:0", "must be more than 0 and less than 1"},
        {"garbage_collection_threshold:0.0", "must be more than 0 and less than 1"},
        {"garbage_collection_threshold:1", "must be more than 0 and less than 1"},
        {"garbage_collection_threshold:1.2", "must be more than 0 and less than 1"},
        {"garbage_collection_threshold:1.5", "must be more than 0 and less than 1"},
        {"garbage_collection_threshold:nan", "expected a fraction such as 0.8, or off"},
        {"garbage_collection_threshold:inf", "expected a fraction"},
        {"garbage_collection_threshold:0,5", "must be more than 0"},
        {"garbage_collection_threshold:0.5.", "expected a fraction"},
        {"garbage_collection_threshold:5e", "expected a fraction"},
        {"garbage_collection_threshold:e5", "expected a fraction"},
        {"garbage_collection_threshold:.", "expected a fraction"},
        {"garbage_collection_threshold:1e-999999999999", "must be more than 0"},
        {"garbage_collection_threshold:1e999999999999", "the number is too large"},
        {"per_process_memory_fraction:-0.1", "expected a fraction"},
        {"per_process_memory_fraction:1.1", "must be from 0 to 1"},
        {"per_process_memory_fraction:1.000000000000001", "must be from 0 to 1"},
        {"backend:cudaMallocAsync", "backend: 'cudaMallocAsync': is the driver's own pool"},
        {"backend:Native", "must be native or cudaMalloc"},
        {"backend:nativ", "must be native or cudaMalloc"},
        {"handle_type:posix", "must be none, posix_fd, fabric or auto"},
        {"gpu_direct_rdma:AUTO", "must be auto, True or False"},
        {"memory_limit:0", "must be at least 1"},
        {"memory_limit:20MB", "expected a size in bytes or with K, M, G or T, or unlimited"},
        {"memory_limit:9223372036854775808", "the number is too large"},
        {"extent_share:0", "must be from 1 to 256"},
        {"extent_share:257", "must be from 1 to 256"},
        {"extent_share:4294967297", "must be from 1 to 256"},
        {"extent_max:0", "must be from 1 to 1T"},
        {"extent_ahead:0.6", "must be from 0 to 0.5"},
        {"slack:1.01", "must be from 0 to 1"},
        {"strict:maybe", "must be False or True"},
        {"slack:0.5,extent_share:7,slack:x", "column 32: slack: 'x'"},
    };
    (void)state;
    expect_fine("max_split_size_mb:30,roundup_power2_divisions:[512:2],slack:0.3");
    for (size_t i = 0; i < XS_COUNT_OF(cases); i++) {
        struct xs_policy before;
        memcpy(&before, &policy, sizeof(policy));
        if (apply(cases[i].text) != XSEG_ERROR_CONFIG)
            fail_msg("'%s' was accepted", cases[i].text);
        expect_line(cases[i].says);
        assert_non_null(strstr(xs_error_text(), "ALLOC_CONF"));
        assert_memory_equal(&policy, &before, sizeof(policy));
    }
}

static void long_and_strange_texts(void **state)
{
    static char big[XS_CONF_TEXT_MAX + 1];
    (void)state;
    memset(big, '[', sizeof(big));
    assert_int_equal(xs_conf_apply(big, XS_CONF_TEXT_MAX, "ALLOC_CONF", &policy, &report),
                     XSEG_ERROR_CONFIG);
    expect_line("column 1: '[' without a ']'");
    memset(&report, 0, sizeof(report));
    assert_int_equal(xs_conf_apply(big, sizeof(big), "ALLOC_CONF", &policy, &report),
                     XSEG_ERROR_CONFIG);
    expect_line("ALLOC_CONF: longer than 65536 bytes");
    memset(big, ',', sizeof(big));
    memset(&report, 0, sizeof(report));
    assert_int_equal(xs_conf_apply(big, XS_CONF_TEXT_MAX, "ALLOC_CONF", &policy, &report), XSEG_OK);
    expect_counts(XS_CONF_TEXT_MAX, 0, 0);
    memset(&report, 0, sizeof(report));
    assert_int_equal(xs_conf_apply("slack:0.5\0,", 11, "ALLOC_CONF", &policy, &report),
                     XSEG_ERROR_CONFIG);
    expect_line("slack: '0.5\\x00': expected a fraction");
}

static void the_report_is_bounded_and_keeps_the_first_error(void **state)
{
    char line[XS_CONF_LINE_BYTES], text[256] = "";
    (void)state;
    for (int i = 0; i < 40; i++)
        strcat(text, "a:1,");
    strcat(text, "slack:x,slack:y");
    assert_int_equal(apply(text), XSEG_ERROR_CONFIG);
    expect_counts(0, 40, 2);
    assert_true(xs_conf_report_line(&report, XS_CONF_KEPT_MAX - 1, line));
    assert_non_null(strstr(line, "slack: 'x'"));
    assert_true(xs_conf_report_line(&report, XS_CONF_KEPT_MAX, line));
    assert_string_equal(line, "ALLOC_CONF: and 30 more");
    assert_false(xs_conf_report_line(&report, XS_CONF_KEPT_MAX + 1, line));
    assert_non_null(strstr(xs_error_text(), "slack: 'x'"));
}

static void the_caret_stands_under_the_error(void **state)
{
    char text[400];
    (void)state;
    assert_int_equal(apply("slack:0.5,backend:foo"), XSEG_ERROR_CONFIG);
    assert_string_equal(report.excerpt, "slack:0.5,backend:foo");
    assert_int_equal(report.caret, 18);
    memset(text, 'a', 300);
    strcpy(text + 300, ":1,slack:~\n~");
    assert_int_equal(apply(text), XSEG_ERROR_CONFIG);
    assert_string_equal(report.excerpt + report.caret, "~?~");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_full_string_of_pytorch),
        TEST(our_own_keys),
        TEST(blanks_and_commas),
        TEST(four_keys_are_reset_by_each_string_and_the_others_stay),
        TEST(the_last_of_two_counts_and_is_noted),
        TEST(order_does_not_matter),
        TEST(a_path_in_the_variable),
        TEST(unknown_keys_are_skipped_as_a_unit),
        TEST(strict_refuses_unknown_keys),
        TEST(strict_is_known_even_of_a_string_that_is_refused),
        TEST(keys_without_effect_are_noted),
        TEST(a_refused_string_changes_nothing),
        TEST(long_and_strange_texts),
        TEST(the_report_is_bounded_and_keeps_the_first_error),
        TEST(the_caret_stands_under_the_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
