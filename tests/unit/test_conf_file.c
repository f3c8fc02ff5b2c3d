/* A policy in a file: ALLOC_CONF=@path. */
#include "conf_fixture.h"

#include <sys/stat.h>
#include <unistd.h>

static char path[64];

static void write_file(const char *text, size_t len)
{
    strcpy(path, "/tmp/xseg_test_conf_XXXXXX");
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, len), len);
    close(fd);
}

static enum xseg_result apply_path(const char *p)
{
    char text[300];
    memset(&report, 0, sizeof(report));
    snprintf(text, sizeof(text), " @%s ", p);
    return xs_policy_apply(&policy, text, "ALLOC_CONF", &report);
}

static void a_file_says_it_line_by_line(void **state)
{
    static const char text[] = "# a comment, with: separators = and [brackets\n"
                               "\n"
                               "slack = 0.5   # half\r\n"
                               "  extent_share:7,\n"
                               "roundup_power2_divisions = [256:1, 512:2, >:4]\n"
                               "memory_limit=2G,handle_type:none\n"
                               "future = [1:2, >:3]";
    char origin[XS_ORIGIN_BYTES], want[XS_ORIGIN_BYTES];
    (void)state;
    write_file(text, strlen(text));
    assert_int_equal(apply_path(path), XSEG_OK);
    assert_true(policy.slack == 0.5);
    assert_int_equal(policy.extent_share, 7);
    assert_int_equal(policy.roundup_power2_divisions[9], 2);
    assert_int_equal(policy.memory_limit, 2 * XS_GIB);
    assert_int_equal(policy.handle_type, XS_HANDLE_NONE);
    snprintf(want, sizeof(want), "file %s:3", path);
    assert_string_equal(xs_policy_origin(&policy, XS_OPTION_slack, origin), want);
    assert_string_equal(xs_policy_origin(&policy, XS_OPTION_strict, origin), "default");
    expect_counts(1, 1, 0);
    expect_line(", line 7, column 1: unknown key 'future', skipped");
    unlink(path);
}

static void an_error_in_a_file_names_its_line(void **state)
{
    static const char text[] = "slack = 0.5\n\n  extent_share = x # no\nmemory_limit\n";
    struct xs_policy before = policy;
    (void)state;
    write_file(text, strlen(text));
    assert_int_equal(apply_path(path), XSEG_ERROR_CONFIG);
    expect_counts(0, 0, 2);
    expect_line(", line 3, column 18: extent_share: 'x': expected a whole number");
    expect_line(", line 4, column 1: 'memory_limit' has no value");
    assert_string_equal(report.excerpt, "  extent_share = x # no");
    assert_int_equal(report.caret, 17);
    assert_memory_equal(&policy, &before, sizeof(policy));
    unlink(path);
}

static void files_that_cannot_be_read(void **state)
{
    static char big[XS_CONF_TEXT_MAX + 1];
    struct xs_policy before = policy;
    (void)state;
    assert_int_equal(apply_path("/nonexistent/alloc.conf"), XSEG_ERROR_CONFIG);
    expect_line("ALLOC_CONF: cannot read '/nonexistent/alloc.conf': ");
    assert_int_equal(apply_path("/tmp"), XSEG_ERROR_CONFIG);
    expect_line("cannot read '/tmp': not a regular file");
    assert_int_equal(apply_path("/dev/null"), XSEG_ERROR_CONFIG);
    assert_int_equal(apply_path(""), XSEG_ERROR_CONFIG);
    expect_line("no path after '@'");
    memset(big, '\n', sizeof(big));
    write_file(big, sizeof(big));
    assert_int_equal(apply_path(path), XSEG_ERROR_CONFIG);
    expect_line("longer than 64 KiB");
    unlink(path);
    write_file(big, XS_CONF_TEXT_MAX);
    assert_int_equal(apply_path(path), XSEG_OK);
    unlink(path);
    assert_int_equal(mkfifo(path, 0600), 0); /* nobody writes: must not wait */
    assert_int_equal(apply_path(path), XSEG_ERROR_CONFIG);
    expect_line("not a regular file");
    unlink(path);
    policy.origins = before.origins; /* the file of newlines was applied */
    assert_memory_equal(&policy, &before, sizeof(policy));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_file_says_it_line_by_line),
        TEST(an_error_in_a_file_names_its_line),
        TEST(files_that_cannot_be_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
