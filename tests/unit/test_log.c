/* Lines on standard error. */
#include "unit.h"

#include "base/log.h"
#include "child.h"

static int write_two_lines(void)
{
    unsetenv("XSEG_LOG");
    xs_log("limit %d", 5);
    xs_log("%s", "second");
    return 0;
}

static void line_has_the_prefix_and_one_newline(void **state)
{
    (void)state;
    struct child_result child = run_child(write_two_lines);
    assert_true(child_returned(&child, 0));
    assert_string_equal(child.output, "xseg: limit 5\nxseg: second\n");
}

static int write_silenced(void)
{
    setenv("XSEG_LOG", "0", 1);
    xs_log("not seen");
    return 0;
}

static void xseg_log_0_silences(void **state)
{
    (void)state;
    struct child_result child = run_child(write_silenced);
    assert_true(child_returned(&child, 0));
    assert_string_equal(child.output, "");
}

static int write_long_line(void)
{
    char text[2000];
    unsetenv("XSEG_LOG");
    memset(text, 'x', sizeof(text));
    text[sizeof(text) - 1] = '\0';
    xs_log("%s", text);
    return 0;
}

static void long_line_is_cut_and_still_one_line(void **state)
{
    (void)state;
    struct child_result child = run_child(write_long_line);
    size_t len = strlen(child.output);
    assert_in_range(len, 500, 600);
    assert_ptr_equal(strchr(child.output, '\n'), child.output + len - 1);
}

static void keep_line(void *ctx, const char *line)
{
    snprintf(ctx, 64, "%s", line);
}

static int redirect_and_back(void)
{
    char kept[64] = "";
    unsetenv("XSEG_LOG");
    xs_log_redirect(keep_line, kept);
    xs_log("to the sink %d", 1);
    CHILD_CHECK(strcmp(kept, "to the sink 1") == 0);
    xs_log_redirect(NULL, NULL);
    xs_log("back");
    CHILD_CHECK(strcmp(kept, "to the sink 1") == 0);
    return 0;
}

static void sink_takes_lines_until_it_is_taken_away(void **state)
{
    (void)state;
    struct child_result child = run_child(redirect_and_back);
    assert_true(child_returned(&child, 0));
    assert_string_equal(child.output, "xseg: back\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(line_has_the_prefix_and_one_newline),
        cmocka_unit_test(xseg_log_0_silences),
        cmocka_unit_test(long_line_is_cut_and_still_one_line),
        cmocka_unit_test(sink_takes_lines_until_it_is_taken_away),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
