/*
 * What reading a policy string had to say: a list of lines that never allocates and never grows.
 * Begin with one that is all zero. Not thread-safe.
 */
#ifndef XS_POLICY_CONF_REPORT_H
#define XS_POLICY_CONF_REPORT_H

#include "policy/slice.h"

enum xs_conf_level { XS_CONF_NOTE, XS_CONF_WARNING, XS_CONF_ERROR, XS_CONF_LEVEL_COUNT };

enum {
    XS_CONF_KEPT_MAX = 12,
    XS_CONF_TEXT_BYTES = 220,
    XS_CONF_LINE_BYTES = 512,
    XS_CONF_SOURCE_BYTES = 96,
    XS_CONF_QUOTE_BYTES = 120
};

struct xs_conf_message {
    enum xs_conf_level level;
    unsigned line;   /* 0: the source has no lines */
    unsigned column; /* counts from 1; 0: concerns no place in the text */
    char text[XS_CONF_TEXT_BYTES];
};

struct xs_conf_report {
    size_t count[XS_CONF_LEVEL_COUNT]; /* all messages, also those that were not kept */
    size_t kept;
    bool strict;                       /* the text, or what was there before it, says strict:True */
    char source[XS_CONF_SOURCE_BYTES]; /* "ALLOC_CONF", "file /etc/alloc.conf" */
    char input[XS_CONF_QUOTE_BYTES];   /* the text, quoted and cut; "" for a file */
    char excerpt[XS_CONF_QUOTE_BYTES]; /* around the first error, printable */
    size_t caret;                      /* where in the excerpt the error is */
    struct xs_conf_message first_error; /* if count[XS_CONF_ERROR] > 0 */
    struct xs_conf_message messages[XS_CONF_KEPT_MAX];
};

void xs_conf_report_add(struct xs_conf_report *report, enum xs_conf_level level, unsigned line,
                        unsigned column, const char *fmt, ...) XS_PRINTF(5, 6);

/* The message with its source and place: "ALLOC_CONF, column 3: ... (in 'a:1')". Returns `out`. */
const char *xs_conf_message_line(const struct xs_conf_report *report,
                                 const struct xs_conf_message *message,
                                 char out[XS_CONF_LINE_BYTES]);

/* Line i of the report, the last one being "and N more" if not all were kept. False: there is
 * none. */
bool xs_conf_report_line(const struct xs_conf_report *report, size_t i,
                         char out[XS_CONF_LINE_BYTES]);

/* The text, cut to what fits, with \xNN for what cannot be printed. Returns `out`. */
const char *xs_conf_quote(struct xs_slice text, char out[XS_CONF_QUOTE_BYTES]);

#endif
