/* The text of a thread's last error. */
#include "unit.h"

#include <pthread.h>

#include "base/error.h"

static int clear(void **state)
{
    (void)state;
    xs_error_clear();
    return 0;
}

static void there_is_no_text_before_a_failure(void **state)
{
    (void)state;
    assert_string_equal(xs_error_text(), "");
}

static void fail_returns_its_code_and_keeps_the_text(void **state)
{
    (void)state;
    assert_int_equal(xs_fail(XSEG_ERROR_IO, "%s:%d", "file", 7), XSEG_ERROR_IO);
    assert_string_equal(xs_error_text(), "file:7");
    assert_int_equal(xs_fail(XSEG_ERROR_CONFIG, "next"), XSEG_ERROR_CONFIG);
    assert_string_equal(xs_error_text(), "next");
    xs_error_clear();
    assert_string_equal(xs_error_text(), "");
}

static void text_may_quote_the_one_before(void **state)
{
    (void)state;
    xs_fail(XSEG_ERROR_IO, "inner");
    xs_fail(XSEG_ERROR_IO, "outer: %s", xs_error_text());
    assert_string_equal(xs_error_text(), "outer: inner");
}

static void long_text_is_cut(void **state)
{
    (void)state;
    char text[2 * XS_ERROR_TEXT_BYTES];
    memset(text, 'x', sizeof(text));
    text[sizeof(text) - 1] = '\0';
    xs_fail(XSEG_ERROR_IO, "%s", text);
    assert_int_equal(strlen(xs_error_text()), XS_ERROR_TEXT_BYTES - 1);
}

static void *fail_elsewhere(void *arg)
{
    snprintf(arg, 16, "%s", xs_error_text());
    xs_fail(XSEG_ERROR_IO, "there");
    return NULL;
}

static void threads_do_not_see_each_others_text(void **state)
{
    (void)state;
    pthread_t thread;
    char seen[16] = "?";
    xs_fail(XSEG_ERROR_IO, "here");
    pthread_create(&thread, NULL, fail_elsewhere, seen);
    pthread_join(thread, NULL);
    assert_string_equal(seen, "");
    assert_string_equal(xs_error_text(), "here");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(there_is_no_text_before_a_failure, clear),
        cmocka_unit_test_setup(fail_returns_its_code_and_keeps_the_text, clear),
        cmocka_unit_test_setup(text_may_quote_the_one_before, clear),
        cmocka_unit_test_setup(long_text_is_cut, clear),
        cmocka_unit_test_setup(threads_do_not_see_each_others_text, clear),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
