/* What the tests of the policy grammar share: one policy, one report, and questions about them. */
#ifndef XS_TESTS_CONF_FIXTURE_H
#define XS_TESTS_CONF_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"
#include "policy/conf.h"

static struct xs_policy policy;
static struct xs_conf_report report;

static inline int start(void **state)
{
    (void)state;
    xs_policy_defaults(&policy);
    memset(&report, 0, sizeof(report));
    return 0;
}

static inline enum xseg_result apply(const char *text)
{
    memset(&report, 0, sizeof(report));
    return xs_conf_apply(text, strlen(text), "ALLOC_CONF", &policy, &report);
}

/* Some line of the report holds all of `what`. */
static inline void expect_line(const char *what)
{
    char line[XS_CONF_LINE_BYTES];
    for (size_t i = 0; xs_conf_report_line(&report, i, line); i++)
        if (strstr(line, what))
            return;
    for (size_t i = 0; xs_conf_report_line(&report, i, line); i++)
        print_error("  %s\n", line);
    fail_msg("no line says '%s'", what);
}

static inline void expect_counts(size_t notes, size_t warnings, size_t errors)
{
    assert_int_equal(report.count[XS_CONF_NOTE], notes);
    assert_int_equal(report.count[XS_CONF_WARNING], warnings);
    assert_int_equal(report.count[XS_CONF_ERROR], errors);
}

static inline void expect_fine(const char *text)
{
    if (apply(text) != XSEG_OK)
        fail_msg("'%s': %s", text, xs_error_text());
}

#define TEST(name) cmocka_unit_test_setup(name, start)

#endif
