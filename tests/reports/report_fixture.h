/*
 * Cases from users' reports, each in a process of its own: a fresh driver with the case's own
 * settings. A body uses the checks of xseg_fixture.h; after it xseg is shut down, and nothing may be
 * left in the simulator.
 */
#ifndef XS_TEST_REPORT_FIXTURE_H
#define XS_TEST_REPORT_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../model/xseg_fixture.h"
#include "forked.h"

struct report {
    const char *name;
    void (*body)(void);
    const char *env[5]; /* "NAME=value" */
};

static const struct report *running;

static void report_in_child(void)
{
    const char *const unset[] = {"ALLOC_CONF", "PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF"};
    for (size_t i = 0; i < XS_COUNT_OF(unset); i++)
        unsetenv(unset[i]);
    for (size_t i = 0; i < XS_COUNT_OF(running->env) && running->env[i]; i++)
        putenv((char *)(uintptr_t)running->env[i]);
    snprintf(xt_where, sizeof(xt_where), "%s", running->name);
    xt_load_simulator();
    running->body();
    xt_check_violations();
    XT_OK(xseg_shutdown());
    if (xt_has_context()) /* the body's, on device 0 */
        xt_drop_context(0);
    xt_check_nothing_left();
}

static void run_report(void **state)
{
    running = *state;
    const int status = run_forked(report_in_child);
    if (status == 77) /* a case that this machine does not allow */
        skip();
    if (status)
        fail_msg("%s: ended with status %d", running->name, status);
}

/* A case: its name, the body, and the environment it runs in. */
#define REPORT(name, body, ...)                                                                    \
    {                                                                                              \
        name, run_report, NULL, NULL, &(struct report)                                             \
        {                                                                                          \
            name, body,                                                                            \
            {                                                                                      \
                __VA_ARGS__                                                                        \
            }                                                                                      \
        }                                                                                          \
    }

#define CLASSIC "ALLOC_CONF=expandable_segments:False"

/* ---- what the cases share --------------------------------------------------------------------- */

static inline void set_limit(size_t bytes)
{
    XT_OK(xseg_set_limit(0, bytes));
}

static inline void *must_fit(size_t bytes)
{
    void *p = xt_alloc(bytes);
    xt_check();
    return p;
}

/* Refused for want of memory; the text says so. */
static inline void must_not_fit(size_t bytes)
{
    void *p = xt_try(bytes, NULL);
    if (p)
        XT_FAIL("%zu bytes were given, %zu are reserved", bytes, xt_reserved());
    if (!strstr(xseg_last_error(), "out of memory"))
        XT_FAIL("the text is: %s", xseg_last_error());
    xt_check();
}

static inline void text_says(const char *part)
{
    if (!strstr(xseg_last_error(), part))
        XT_FAIL("\"%s\" is not in: %s", part, xseg_last_error());
}

static inline void text_does_not_say(const char *part)
{
    if (strstr(xseg_last_error(), part))
        XT_FAIL("\"%s\" is in: %s", part, xseg_last_error());
}

#endif
