#include "bench/row.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void xs_row_extra(struct xs_row *row, const char *name, double value)
{
    if (row->n_extras == XS_ROW_EXTRAS_MAX)
        return;
    snprintf(row->extras[row->n_extras].name, sizeof(row->extras[0].name), "%s", name);
    row->extras[row->n_extras++].value = value;
}

double xs_row_find_extra(const struct xs_row *row, const char *name)
{
    for (size_t i = 0; i < row->n_extras; i++)
        if (strcmp(row->extras[i].name, name) == 0)
            return row->extras[i].value;
    return NAN;
}

/* ---- writing --------------------------------------------------------------------------------- */

/* Whatever is no plain ASCII becomes a question mark, so that the line always parses. */
static void write_text(FILE *out, const char *name, const char *text)
{
    fprintf(out, ", \"%s\": \"", name);
    for (; *text != '\0'; text++) {
        if (*text == '"' || *text == '\\')
            fputc('\\', out);
        fputc(*text >= ' ' && *text <= '~' ? *text : '?', out);
    }
    fputc('"', out);
}

static void write_number(FILE *out, const char *name, double value)
{
    if (!isfinite(value))
        fprintf(out, ", \"%s\": null", name);
    else if (value == floor(value) && fabs(value) < 1e15)
        fprintf(out, ", \"%s\": %.0f", name, value);
    else
        fprintf(out, ", \"%s\": %.*f", name, fabs(value) < 10 ? 4 : 2, value);
}

void xs_row_write(const struct xs_row *row, FILE *out)
{
    fprintf(out, "{\"bench\": \"%s\"", row->bench);
    write_text(out, "contestant", row->contestant);
    write_text(out, "driver", row->driver);
    write_number(out, "threads", row->threads);
    write_number(out, "cores", row->cores);
    write_number(out, "size", (double)row->size);
    write_number(out, "ns_per_pair", row->ns_per_pair);
    write_number(out, "p50_ns", row->p50_ns);
    write_number(out, "p999_ns", row->p999_ns);
    write_number(out, "control_ns", row->control_ns);
    write_number(out, "ratio_to_control", row->ns_per_pair / row->control_ns);
    if (row->trace[0] != '\0')
        write_text(out, "trace", row->trace);
    for (size_t i = 0; i < row->n_extras; i++)
        write_number(out, row->extras[i].name, row->extras[i].value);
    if (row->error[0] != '\0')
        write_text(out, "error", row->error);
    fputs("}\n", out);
}

/* ---- reading --------------------------------------------------------------------------------- */

static const char *skip(const char *at, const char *what)
{
    return at + strspn(at, what);
}

/* *at is behind the opening quote, and then behind the closing one. Too long a text is cut. */
static bool read_text(const char **at, char *text, size_t bytes)
{
    size_t n = 0;
    const char *s = *at;
    for (; *s != '"'; s++) {
        if (*s == '\\')
            s++;
        if (*s == '\0')
            return false;
        if (n + 1 < bytes)
            text[n++] = *s;
    }
    text[n] = '\0';
    *at = s + 1;
    return true;
}

static void take_text(struct xs_row *row, const char *name, const char *text)
{
    const struct {
        const char *name;
        char *to;
        size_t bytes;
    } fields[] = {
        {"bench", row->bench, sizeof(row->bench)},
        {"contestant", row->contestant, sizeof(row->contestant)},
        {"driver", row->driver, sizeof(row->driver)},
        {"trace", row->trace, sizeof(row->trace)},
        {"error", row->error, sizeof(row->error)},
    };
    for (size_t i = 0; i < XS_BENCH_LENGTH(fields); i++)
        if (strcmp(name, fields[i].name) == 0)
            snprintf(fields[i].to, fields[i].bytes, "%s", text);
}

static void take_number(struct xs_row *row, const char *name, double value)
{
    double *const reals[] = {&row->ns_per_pair, &row->p50_ns, &row->p999_ns, &row->control_ns};
    static const char *const real_names[] = {"ns_per_pair", "p50_ns", "p999_ns", "control_ns"};
    for (size_t i = 0; i < XS_BENCH_LENGTH(reals); i++) {
        if (strcmp(name, real_names[i]) == 0) {
            *reals[i] = value;
            return;
        }
    }
    bool is_count = isfinite(value) && value >= 0;
    if (strcmp(name, "threads") == 0)
        row->threads = is_count ? (unsigned)value : 0;
    else if (strcmp(name, "cores") == 0)
        row->cores = is_count ? (unsigned)value : 0;
    else if (strcmp(name, "size") == 0)
        row->size = is_count ? (uint64_t)value : 0;
    else if (strcmp(name, "ratio_to_control") != 0) /* is computed */
        xs_row_extra(row, name, value);
}

static bool read_value(struct xs_row *row, const char *name, const char **at)
{
    char text[sizeof(row->error)];
    char *end;
    if (**at == '"') {
        ++*at;
        if (!read_text(at, text, sizeof(text)))
            return false;
        take_text(row, name, text);
        return true;
    }
    if (strncmp(*at, "null", 4) == 0) {
        take_number(row, name, NAN);
        *at += 4;
        return true;
    }
    double value = strtod(*at, &end);
    if (end == *at)
        return false;
    take_number(row, name, value);
    *at = end;
    return true;
}

bool xs_row_read(struct xs_row *row, const char *line)
{
    *row = (struct xs_row){.ns_per_pair = NAN, .p50_ns = NAN, .p999_ns = NAN, .control_ns = NAN};
    const char *at = skip(line, " ");
    if (*at++ != '{')
        return false;
    do {
        char name[32];
        at = skip(at, " ");
        if (*at++ != '"' || !read_text(&at, name, sizeof(name)))
            return false;
        at = skip(at, " ");
        if (*at++ != ':')
            return false;
        at = skip(at, " ");
        if (!read_value(row, name, &at))
            return false;
        at = skip(at, " ");
    } while (*at++ == ',');
    return at[-1] == '}' && row->bench[0] != '\0' && row->contestant[0] != '\0';
}
