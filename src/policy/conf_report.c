#include "policy/conf_report.h"

#include <stdarg.h>
#include <stdio.h>

static bool is_printable(char c)
{
    return c >= ' ' && c <= '~';
}

const char *xs_conf_quote(struct xs_slice text, char out[XS_CONF_QUOTE_BYTES])
{
    const size_t end = XS_CONF_QUOTE_BYTES - sizeof("...\\xNN");
    size_t n = 0, i = 0;
    for (; i < text.len && n < end; i++) {
        if (is_printable(text.at[i]))
            out[n++] = text.at[i];
        else
            n += (size_t)snprintf(out + n, XS_CONF_QUOTE_BYTES - n, "\\x%02x",
                                  (unsigned char)text.at[i]);
    }
    snprintf(out + n, XS_CONF_QUOTE_BYTES - n, "%s", i < text.len ? "..." : "");
    return out;
}

void xs_conf_report_add(struct xs_conf_report *report, enum xs_conf_level level, unsigned line,
                        unsigned column, const char *fmt, ...)
{
    struct xs_conf_message m = {.level = level, .line = line, .column = column};
    va_list args;
    va_start(args, fmt);
    vsnprintf(m.text, sizeof(m.text), fmt, args);
    va_end(args);
    bool is_first_error = level == XS_CONF_ERROR && report->count[level] == 0;
    report->count[level]++;
    if (is_first_error)
        report->first_error = m;
    if (report->kept < XS_CONF_KEPT_MAX)
        report->messages[report->kept++] = m;
    else if (is_first_error) /* it matters more than what it displaces */
        report->messages[XS_CONF_KEPT_MAX - 1] = m;
}

const char *xs_conf_message_line(const struct xs_conf_report *report,
                                 const struct xs_conf_message *message,
                                 char out[XS_CONF_LINE_BYTES])
{
    char line[32] = "", column[32] = "";
    bool has_input = message->column > 0 && report->input[0];
    if (message->line > 0)
        snprintf(line, sizeof(line), ", line %u", message->line);
    if (message->column > 0)
        snprintf(column, sizeof(column), ", column %u", message->column);
    snprintf(out, XS_CONF_LINE_BYTES, "%s%s%s: %s%s%s%s", report->source, line, column,
             message->text, has_input ? " (in '" : "", has_input ? report->input : "",
             has_input ? "')" : "");
    return out;
}

static size_t total(const struct xs_conf_report *report)
{
    size_t n = 0;
    for (size_t level = 0; level < XS_CONF_LEVEL_COUNT; level++)
        n += report->count[level];
    return n;
}

bool xs_conf_report_line(const struct xs_conf_report *report, size_t i,
                         char out[XS_CONF_LINE_BYTES])
{
    size_t dropped = total(report) - report->kept;
    if (i < report->kept)
        xs_conf_message_line(report, &report->messages[i], out);
    else if (i == report->kept && dropped > 0)
        snprintf(out, XS_CONF_LINE_BYTES, "%s: and %zu more", report->source, dropped);
    else
        return false;
    return true;
}
