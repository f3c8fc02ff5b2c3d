#include "base/json.h"

#include <math.h>

#include "base/utf8.h"

static void write_quoted(struct xs_out *out, const char *text)
{
    const char *s = text;
    xs_out_text(out, "\"");
    while (*s != '\0') {
        size_t n = xs_utf8_length(s);
        if (n == 0)
            xs_out_text(out, "\\ufffd");
        else if (*s == '"' || *s == '\\')
            xs_out_printf(out, "\\%c", *s);
        else if ((unsigned char)*s < 0x20 || *s == 0x7f)
            xs_out_printf(out, "\\u%04x", *s);
        else
            xs_out_bytes(out, s, n);
        s += xs_max(n, 1);
    }
    xs_out_text(out, "\"");
}

static void begin_value(struct xs_json *j, const char *key)
{
    if (j->needs_comma)
        xs_out_text(j->out, ", ");
    j->needs_comma = true;
    if (key != NULL) {
        write_quoted(j->out, key);
        xs_out_text(j->out, ": ");
    }
}

void xs_json_open(struct xs_json *j, const char *key, char bracket)
{
    begin_value(j, key);
    xs_out_bytes(j->out, &bracket, 1);
    j->needs_comma = false;
}

void xs_json_close(struct xs_json *j, char bracket)
{
    xs_out_bytes(j->out, &bracket, 1);
    j->needs_comma = true;
}

void xs_json_text(struct xs_json *j, const char *key, const char *text)
{
    begin_value(j, key);
    if (text == NULL)
        xs_out_text(j->out, "null");
    else
        write_quoted(j->out, text);
}

void xs_json_count(struct xs_json *j, const char *key, uint64_t value)
{
    begin_value(j, key);
    xs_out_printf(j->out, "%llu", (unsigned long long)value);
}

void xs_json_real(struct xs_json *j, const char *key, double value, int decimals)
{
    begin_value(j, key);
    if (isfinite(value))
        xs_out_printf(j->out, "%.*f", decimals, value);
    else
        xs_out_text(j->out, "null");
}

void xs_json_signed(struct xs_json *j, const char *key, int64_t value)
{
    begin_value(j, key);
    xs_out_printf(j->out, "%lld", (long long)value);
}

void xs_json_bool(struct xs_json *j, const char *key, bool value)
{
    begin_value(j, key);
    xs_out_text(j->out, value ? "true" : "false");
}

void xs_json_null(struct xs_json *j, const char *key)
{
    begin_value(j, key);
    xs_out_text(j->out, "null");
}
