/* The policy as a whole: defaults, environment, text of it, and what it means on a device. */
#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"
#include "base/fmt.h"
#include "policy/conf.h"

static struct xs_policy policy;
static struct xs_conf_report report;

static int start(void **state)
{
    (void)state;
    for (size_t i = 0; i < xs_policy_variable_count; i++)
        unsetenv(xs_policy_variables[i]);
    xs_policy_defaults(&policy);
    memset(&report, 0, sizeof(report));
    return 0;
}

static void expect_fine(const char *text)
{
    if (xs_policy_apply(&policy, text, "test", &report) != XSEG_OK)
        fail_msg("'%s': %s", text, xs_error_text());
}

static enum xseg_result read_environment(void)
{
    memset(&report, 0, sizeof(report));
    return xs_policy_from_environment(&policy, &report);
}

/* Two policies are the same if all their values are, wherever these come from. */
static void expect_same_values(const struct xs_policy *a, const struct xs_policy *b)
{
    assert_memory_equal(a, b, offsetof(struct xs_policy, origins));
}

/* ---- the table of options ---- */

static void each_default_is_what_its_row_says(void **state)
{
    char text[XS_OPTION_TEXT_BYTES];
    struct xs_value_error error;
    (void)state;
    for (size_t i = 0; i < XS_OPTION_COUNT; i++) {
        const struct xs_conf_option *o = &xs_options[i];
        struct xs_policy other = policy;
        if (!xs_option_read(o, xs_slice_of(o->preset), &other, &error))
            fail_msg("%s: its default '%s' is refused: %s", o->key, o->preset, error.text);
        xs_option_write(o, &policy, text);
        if (i == XS_OPTION_max_non_split_rounding) /* auto: another option's value */
            assert_int_equal(policy.max_non_split_rounding, policy.large_segment_size);
        else
            assert_string_equal(text, o->preset);
    }
}

static void each_row_is_well_formed(void **state)
{
    char range[XS_OPTION_TEXT_BYTES];
    (void)state;
    for (size_t i = 0; i < XS_OPTION_COUNT; i++) {
        const struct xs_conf_option *o = &xs_options[i];
        bool has_range =
            o->type != XS_TYPE_ROUNDUP && o->type != XS_TYPE_RESERVE && o->type != XS_TYPE_PATH;
        assert_int_equal(*xs_option_range(o, range) != '\0', has_range);
        assert_true(strlen(o->text) > 10 && o->text[strlen(o->text) - 1] == '.');
        assert_true(o->word[0] == '\0' || strcmp(o->word, "unlimited") == 0 ||
                    strcmp(o->word, "auto") == 0 || strcmp(o->word, "off") == 0);
        assert_ptr_equal(xs_option_find(xs_slice_of(o->key)), o);
        assert_null(xs_ignored_key_find(xs_slice_of(o->key)));
        assert_true(strlen(xs_option_unit(o)) > 0);
    }
}

static void a_path_is_kept_as_it_is(void **state)
{
    char text[XS_OPTION_TEXT_BYTES], longest[XS_PATH_BYTES + 1];
    struct xs_value_error error;
    const struct xs_conf_option *o = &xs_options[XS_OPTION_snapshot_path];
    (void)state;
    memset(longest, 'x', sizeof(longest));
    longest[XS_PATH_BYTES - 1] = '\0';
    assert_true(xs_option_read(o, xs_slice_of(longest), &policy, &error));
    assert_string_equal(policy.snapshot_path, longest);
    assert_true(xs_option_read(o, xs_slice_of("/tmp/a %p.json"), &policy, &error));
    assert_string_equal(xs_option_write(o, &policy, text), "/tmp/a %p.json");
    longest[XS_PATH_BYTES - 1] = 'x';
    longest[XS_PATH_BYTES] = '\0';
    assert_false(xs_option_read(o, xs_slice_of(longest), &policy, &error));
    assert_false(xs_option_read(o, xs_slice_of(""), &policy, &error));
    assert_string_equal(policy.snapshot_path, "/tmp/a %p.json");
    assert_true(xs_option_read(o, xs_slice_of("off"), &policy, &error));
    assert_string_equal(policy.snapshot_path, "");
}

static void words_stand_in_the_order_of_their_enum(void **state)
{
    static const struct {
        enum xs_option_id id;
        unsigned value;
        const char *word;
    } cases[] = {
        {XS_OPTION_backend, XS_BACKEND_NATIVE, "native"},
        {XS_OPTION_backend, XS_BACKEND_CUDA_MALLOC, "cudaMalloc"},
        {XS_OPTION_handle_type, XS_HANDLE_NONE, "none"},
        {XS_OPTION_handle_type, XS_HANDLE_POSIX_FD, "posix_fd"},
        {XS_OPTION_handle_type, XS_HANDLE_FABRIC, "fabric"},
        {XS_OPTION_handle_type, XS_HANDLE_AUTO, "auto"},
        {XS_OPTION_gpu_direct_rdma, XS_RDMA_AUTO, "auto"},
        {XS_OPTION_gpu_direct_rdma, XS_RDMA_ON, "True"},
        {XS_OPTION_gpu_direct_rdma, XS_RDMA_OFF, "False"},
    };
    struct xs_value_error error;
    (void)state;
    for (size_t i = 0; i < XS_COUNT_OF(cases); i++) {
        const struct xs_conf_option *o = &xs_options[cases[i].id];
        assert_true(xs_option_read(o, xs_slice_of(cases[i].word), &policy, &error));
        assert_int_equal(*(unsigned *)((char *)&policy + o->offset), cases[i].value);
    }
}

/* ---- the environment ---- */

/* R23: every subset of the three names, each with a value of its own. */
static void the_first_name_that_is_set_wins(void **state)
{
    static const char *const values[] = {"extent_share:1", "extent_share:2", "extent_share:3"};
    char origin[XS_ORIGIN_BYTES];
    (void)state;
    for (unsigned subset = 0; subset < 8; subset++) {
        start(NULL);
        for (size_t i = 0; i < 3; i++)
            if (subset >> i & 1)
                setenv(xs_policy_variables[i], values[i], 1);
        assert_int_equal(read_environment(), XSEG_OK);
        unsigned winner = subset ? (unsigned)__builtin_ctz(subset) : 0;
        xs_policy_origin(&policy, XS_OPTION_extent_share, origin);
        assert_string_equal(origin, subset ? xs_policy_variables[winner] : "default");
        if (subset)
            assert_int_equal(policy.extent_share, winner + 1);
        bool several = (subset & (subset - 1)) != 0;
        assert_int_equal(report.count[XS_CONF_WARNING], several); /* one, also of three */
        char line[XS_CONF_LINE_BYTES], want[80];
        snprintf(want, sizeof(want), "differs; %s counts", xs_policy_variables[winner]);
        if (several)
            assert_true(xs_conf_report_line(&report, 0, line) && strstr(line, want));
    }
}

static void names_that_agree_are_not_worth_a_warning(void **state)
{
    (void)state;
    setenv("ALLOC_CONF", "extent_share:5", 1);
    setenv("PYTORCH_CUDA_ALLOC_CONF", "extent_share:5", 1);
    assert_int_equal(read_environment(), XSEG_OK);
    assert_int_equal(report.count[XS_CONF_WARNING], 0);
}

/* R23: the same string has the same effect under each name. */
static void every_name_has_the_same_effect(void **state)
{
    static const char text[] =
        "expandable_segments:False,max_split_size_mb:64,roundup_power2_divisions:[256:1,>:4],"
        "garbage_collection_threshold:0.8,per_process_memory_fraction:0.5,slack:0.1,"
        "cross_stream_wait:False,backend:cudaMalloc,memory_limit:1G";
    struct xs_policy first;
    (void)state;
    for (size_t i = 0; i < xs_policy_variable_count; i++) {
        start(NULL);
        setenv(xs_policy_variables[i], text, 1);
        assert_int_equal(read_environment(), XSEG_OK);
        if (i == 0)
            first = policy;
        expect_same_values(&first, &policy);
    }
}

static void a_name_set_to_nothing_counts(void **state)
{
    (void)state;
    setenv("ALLOC_CONF", "", 1);
    setenv("PYTORCH_ALLOC_CONF", "extent_share:2", 1);
    struct xs_policy defaults = policy;
    assert_int_equal(read_environment(), XSEG_OK);
    expect_same_values(&policy, &defaults);
    assert_int_equal(report.count[XS_CONF_WARNING], 1);
}

/* R18: whatever is in the variable, the program goes on with the defaults. */
static void an_error_leaves_the_defaults(void **state)
{
    struct xs_policy defaults = policy;
    (void)state;
    setenv("PYTORCH_CUDA_ALLOC_CONF", "extent_share:2,slack:7", 1);
    assert_int_equal(read_environment(), XSEG_ERROR_CONFIG);
    expect_same_values(&policy, &defaults);
    assert_int_equal(report.count[XS_CONF_ERROR], 1);
    assert_false(report.strict);
    assert_string_equal(xs_error_text(),
                        "PYTORCH_CUDA_ALLOC_CONF, column 22: slack: '7': must be from 0 to 1 "
                        "(in 'extent_share:2,slack:7')");
    setenv("PYTORCH_CUDA_ALLOC_CONF", "extent_share:2,slack:7,strict:True", 1);
    assert_int_equal(read_environment(), XSEG_ERROR_CONFIG);
    assert_true(report.strict);
}

static void a_change_of_the_environment_is_seen(void **state)
{
    (void)state;
    assert_false(xs_policy_environment_changed(&policy)); /* not read */
    setenv("ALLOC_CONF", "extent_share:2", 1);
    read_environment();
    assert_false(xs_policy_environment_changed(&policy));
    setenv("ALLOC_CONF", "extent_share:3", 1);
    assert_true(xs_policy_environment_changed(&policy));
    unsetenv("ALLOC_CONF");
    assert_true(xs_policy_environment_changed(&policy));
    read_environment();
    setenv("PYTORCH_ALLOC_CONF", "", 1);
    assert_true(xs_policy_environment_changed(&policy));
}

static void xseg_configure_goes_over_the_environment(void **state)
{
    char origin[XS_ORIGIN_BYTES];
    (void)state;
    setenv("ALLOC_CONF", "extent_share:2,slack:0.5,max_split_size_mb:64", 1);
    assert_int_equal(read_environment(), XSEG_OK);
    assert_int_equal(xs_policy_apply(&policy, "slack:0.25", "xseg_configure", &report), XSEG_OK);
    assert_string_equal(xs_policy_origin(&policy, XS_OPTION_slack, origin), "xseg_configure");
    assert_string_equal(xs_policy_origin(&policy, XS_OPTION_extent_share, origin), "ALLOC_CONF");
    assert_string_equal(xs_policy_origin(&policy, XS_OPTION_max_split_size, origin),
                        "default"); /* reset */
    char source[16];
    for (int i = 0; i < 20; i++) { /* more sources than there is room for */
        snprintf(source, sizeof(source), "source %d", i);
        assert_int_equal(xs_policy_apply(&policy, "extent_share:9", source, &report), XSEG_OK);
        assert_string_equal(xs_policy_origin(&policy, XS_OPTION_extent_share, origin), source);
    }
}

static void options_that_come_too_late_are_noted(void **state)
{
    struct xs_policy before = policy;
    (void)state;
    expect_fine("handle_type:none,extent_share:3,memory_limit:1G,page:False");
    xs_policy_note_late(&before, &policy, &report);
    assert_int_equal(report.count[XS_CONF_NOTE], 2);
    assert_string_equal(report.messages[0].text,
                        "handle_type:none has no effect on devices in use");
    assert_string_equal(report.messages[1].text, "page:False has no effect on devices in use");
}

/* ---- as text ---- */

static void a_policy_written_and_read_is_the_same(void **state)
{
    static const char *const cases[] = {
        "",
        "expandable_segments:False,large_segment_size_mb:33,max_split_size_mb:77,max_non_split_"
        "rounding_mb:55",
        "garbage_collection_threshold:0.123456789012345,per_process_memory_fraction:0."
        "999999999999999",
        "roundup_power2_divisions:[1:0,2:1,4:2,8:4,16:9223372036854775808,32:16,64:0,128:1,256:2,"
        "512:4,1024:8,"
        "2048:16,4096:0,8192:1,16384:2,32768:4]",
        "roundup_power2_divisions:[>:2]",
        "roundup_power2_divisions:16",
        "roundup_power2_divisions:[2:4]",
        "roundup_power2_divisions:[16384:4,>:0]",
        "expandable_segments_reserve:0.3,memory_limit:1234567891,extent_min:3K,extent_ahead:1e-15",
        "expandable_segments_reserve:1e20G,va_reserve:64T,handle_type:posix_fd,gpu_direct_rdma:"
        "True",
        "expandable_segments_reserve:0.37G,backend:cudaMalloc,strict:True",
    };
    char text[XS_POLICY_TEXT_BYTES], again[XS_POLICY_TEXT_BYTES];
    (void)state;
    for (size_t i = 0; i < XS_COUNT_OF(cases); i++) {
        struct xs_policy other;
        start(NULL);
        expect_fine(cases[i]);
        size_t len = xs_policy_format(&policy, text);
        assert_int_equal(len, strlen(text));
        xs_policy_defaults(&other);
        assert_int_equal(
            xs_policy_apply(&other, "slack:1,memory_limit:1,backend:cudaMalloc,extent_share:99",
                            "x", &report),
            XSEG_OK);
        assert_int_equal(xs_policy_apply(&other, text, "x", &report), XSEG_OK);
        expect_same_values(&policy, &other);
        xs_policy_format(&other, again);
        assert_string_equal(text, again);
    }
}

/* A locale whose decimal point is a comma; built where the machine has none. */
static bool set_comma_locale(void)
{
    static const char *const names[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "de_DE"};
    char folder[] = "/tmp/xseg_locale_XXXXXX", command[200];
    for (size_t i = 0; i < XS_COUNT_OF(names); i++)
        if (setlocale(LC_ALL, names[i]))
            return true;
    if (!mkdtemp(folder))
        return false;
    snprintf(command, sizeof(command), "localedef -i de_DE -f UTF-8 %s/de_DE.UTF-8 >/dev/null 2>&1",
             folder);
    int failed = system(command);
    setenv("LOCPATH", folder, 1);
    bool found = !failed && setlocale(LC_ALL, "de_DE.UTF-8");
    snprintf(command, sizeof(command), "rm -rf %s", folder);
    return system(command) == 0 && found;
}

static void numbers_do_not_follow_the_locale(void **state)
{
    char text[XS_POLICY_TEXT_BYTES], in_c[XS_POLICY_TEXT_BYTES], bytes[XS_FMT_BYTES];
    static const char conf[] = "slack:0.25,memory_limit:1.5G,expandable_segments_reserve:0.5";
    (void)state;
    expect_fine(conf);
    xs_policy_format(&policy, in_c);
    if (!set_comma_locale())
        skip();
    snprintf(text, sizeof(text), "%.1f", 0.5);
    assert_string_equal(text, "0,5");
    start(NULL);
    expect_fine(conf);
    assert_true(policy.slack == 0.25);
    assert_int_equal(policy.memory_limit, 3 * XS_GIB / 2);
    xs_policy_format(&policy, text);
    assert_string_equal(text, in_c);
    assert_string_equal(xs_fmt_bytes(bytes, 3 * XS_GIB / 2), "1.50 GiB");
    assert_int_equal(xs_policy_apply(&policy, "slack:0,25", "x", &report), XSEG_ERROR_CONFIG);
    setlocale(LC_ALL, "C");
}

/* ---- on a device ---- */

static void the_smaller_limit_counts(void **state)
{
    const size_t device = 80 * XS_GIB;
    (void)state;
    assert_true(xs_policy_limit(&policy, device) == SIZE_MAX);
    expect_fine("per_process_memory_fraction:0.5");
    assert_int_equal(xs_policy_limit(&policy, device), 40 * XS_GIB);
    expect_fine("memory_limit:10G");
    assert_int_equal(xs_policy_limit(&policy, device), 10 * XS_GIB);
    assert_int_equal(xs_policy_limit(&policy, 10 * XS_GIB), 5 * XS_GIB);
    expect_fine("per_process_memory_fraction:0");
    assert_int_equal(xs_policy_limit(&policy, device), 0);
}

static void address_space_of_a_segment(void **state)
{
    const size_t device = 80 * XS_GIB;
    (void)state;
    assert_int_equal(xs_policy_va_reserve(&policy, device), 0);
    expect_fine("expandable_segments_reserve:0.5");
    assert_int_equal(xs_policy_va_reserve(&policy, device), 40 * XS_GIB);
    expect_fine("expandable_segments_reserve:7G");
    assert_int_equal(xs_policy_va_reserve(&policy, device), 7 * XS_GIB);
    expect_fine("va_reserve:1T");
    assert_int_equal(xs_policy_va_reserve(&policy, device), (size_t)1 << 40);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup(name, start)
    const struct CMUnitTest tests[] = {
        TEST(each_default_is_what_its_row_says),
        TEST(each_row_is_well_formed),
        TEST(a_path_is_kept_as_it_is),
        TEST(words_stand_in_the_order_of_their_enum),
        TEST(the_first_name_that_is_set_wins),
        TEST(names_that_agree_are_not_worth_a_warning),
        TEST(every_name_has_the_same_effect),
        TEST(a_name_set_to_nothing_counts),
        TEST(an_error_leaves_the_defaults),
        TEST(a_change_of_the_environment_is_seen),
        TEST(xseg_configure_goes_over_the_environment),
        TEST(options_that_come_too_late_are_noted),
        TEST(a_policy_written_and_read_is_the_same),
        TEST(numbers_do_not_follow_the_locale),
        TEST(the_smaller_limit_counts),
        TEST(address_space_of_a_segment),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
