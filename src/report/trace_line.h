/*
 * One line of a trace as fields with a single space between them, and errors that say where the
 * line is and quote what was wrong with it. Not thread-safe.
 */
#ifndef XS_REPORT_TRACE_LINE_H
#define XS_REPORT_TRACE_LINE_H

#include "report/trace_source.h"

struct xs_trace_line {
    const char *at; /* at..end is not yet taken */
    const char *end;
    const char *begin;
    const struct xs_trace_source *source; /* whose current line it is */
};

/* Takes the text up to the next space; false, with *len 0, where there is none. */
bool xs_trace_line_word(struct xs_trace_line *line, const char **word, size_t *len);
/* Takes a word; is it the expected one? */
bool xs_trace_line_literal(struct xs_trace_line *line, const char *expected);
/* Takes a decimal number from 0 to `most`, which is below 2^63. `what` is its name in errors. */
enum xseg_result xs_trace_line_number(struct xs_trace_line *line, const char *what, uint64_t most,
                                      uint64_t *value);
enum xseg_result xs_trace_line_end(const struct xs_trace_line *line);

/* Fails with "file:line: why: 'text'"; the first form quotes the whole line. */
enum xseg_result xs_trace_line_bad(const struct xs_trace_line *line, const char *why);
enum xseg_result xs_trace_line_bad_text(const struct xs_trace_line *line, const char *why,
                                        const char *text, size_t len);

#endif
