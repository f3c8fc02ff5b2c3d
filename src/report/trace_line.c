/* A number is taken in one pass; only one that cannot be taken is looked at again, to say why. */
#include "report/trace_line.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"

enum xseg_result xs_trace_line_bad_text(const struct xs_trace_line *line, const char *why,
                                        const char *text, size_t len)
{
    char quote[XS_TRACE_QUOTE_BYTES];
    return xs_fail(XSEG_ERROR_IO, "%s:%llu: %s: '%s'", line->source->name,
                   (unsigned long long)line->source->line, why, xs_trace_quote(quote, text, len));
}

enum xseg_result xs_trace_line_bad(const struct xs_trace_line *line, const char *why)
{
    return xs_trace_line_bad_text(line, why, line->begin, (size_t)(line->end - line->begin));
}

bool xs_trace_line_word(struct xs_trace_line *line, const char **word, size_t *len)
{
    *word = line->at;
    *len = 0;
    if (line->at >= line->end)
        return false;
    const char *space = memchr(line->at, ' ', (size_t)(line->end - line->at));
    const char *end = space != NULL ? space : line->end;
    *len = (size_t)(end - line->at);
    line->at = space != NULL ? space + 1 : line->end;
    return *len > 0;
}

bool xs_trace_line_literal(struct xs_trace_line *line, const char *expected)
{
    const char *word;
    size_t len;
    return xs_trace_line_word(line, &word, &len) && len == strlen(expected) &&
           memcmp(word, expected, len) == 0;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static enum xseg_result bad_number(struct xs_trace_line *line, const char *what, uint64_t most)
{
    const char *word;
    size_t len;
    char why[96];
    if (!xs_trace_line_word(line, &word, &len)) {
        snprintf(why, sizeof(why), "missing %s", what);
        return xs_trace_line_bad(line, why);
    }
    size_t digits = 0;
    while (digits < len && is_digit(word[digits]))
        digits++;
    if (digits == len) {
        snprintf(why, sizeof(why), "%s is above %llu", what, (unsigned long long)most);
    } else {
        bool is_negative = len > 1 && word[0] == '-' && is_digit(word[1]);
        snprintf(why, sizeof(why), "%s is %s", what, is_negative ? "negative" : "not a number");
    }
    return xs_trace_line_bad_text(line, why, word, len);
}

enum xseg_result xs_trace_line_number(struct xs_trace_line *line, const char *what, uint64_t most,
                                      uint64_t *value)
{
    const char *p = line->at;
    uint64_t n = 0;
    while (p < line->end && is_digit(*p) && n <= most) {
        uint64_t digit = (uint64_t)(*p++ - '0');
        n = n > (UINT64_MAX - digit) / 10 ? UINT64_MAX : n * 10 + digit;
    }
    bool is_whole = p == line->end || *p == ' ';
    if (xs_unlikely(p == line->at || n > most || !is_whole))
        return bad_number(line, what, most);
    line->at = p < line->end ? p + 1 : p;
    *value = n;
    return XSEG_OK;
}

enum xseg_result xs_trace_line_end(const struct xs_trace_line *line)
{
    bool ends_in_space = line->end > line->begin && line->end[-1] == ' ';
    if (xs_unlikely(line->at < line->end || ends_in_space))
        return xs_trace_line_bad(line, "unexpected text at the end");
    return XSEG_OK;
}
