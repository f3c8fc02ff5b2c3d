/*
 * The grammar of ALLOC_CONF: "key:value,key:[a:b,c:d]". Parsed whole, then applied whole: on an
 * error *policy is unchanged. No allocation, no state, no locale.
 */
#ifndef XS_POLICY_CONF_H
#define XS_POLICY_CONF_H

#include "policy/policy.h"

enum { XS_CONF_TEXT_MAX = 64 * 1024 };

/*
 * Puts the keys marked RESET back to their defaults, then applies `text` over *policy. `source` is
 * the name of the text in messages. Errors: CONFIG; report->first_error and xs_error_text() say
 * why.
 */
enum xseg_result xs_conf_apply(const char *text, size_t len, const char *source,
                               struct xs_policy *policy, struct xs_conf_report *report);

/* The same for the text of a file: line by line, "key = value" or "key: value", '#' begins a
 * comment. */
enum xseg_result xs_conf_apply_lines(const char *text, size_t len, const char *source,
                                     struct xs_policy *policy, struct xs_conf_report *report);

/* The same, reading the file: a regular one of at most 64 KiB. `source` is who named the file. */
enum xseg_result xs_conf_apply_file(struct xs_slice path, const char *source,
                                    struct xs_policy *policy, struct xs_conf_report *report);

/* The first error of the report as this thread's last error. Returns CONFIG. */
enum xseg_result xs_conf_fail(const struct xs_conf_report *report);

#endif
