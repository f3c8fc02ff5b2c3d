#include "cli/table.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define GAP "  "

struct style {
    const char *bold;
    const char *dim;
    const char *reset;
    const char *line; /* one column of a horizontal line; "": no lines */
};

/* Columns on the screen: every byte but the later ones of a UTF-8 sequence. */
static size_t width_of(const char *text, size_t bytes)
{
    size_t width = 0;
    for (size_t i = 0; i < bytes; i++)
        width += ((unsigned char)text[i] & 0xc0) != 0x80;
    return width;
}

/* Line 0 or 1 of a title; a title of one line has it at the bottom. */
static const char *title_line(const char *title, int line, size_t *bytes)
{
    const char *newline = strchr(title, '\n');
    const char *at = line == 0 ? title : newline != NULL ? newline + 1 : title;
    if (line == 0)
        *bytes = newline != NULL ? (size_t)(newline - title) : 0;
    else
        *bytes = strlen(at);
    return at;
}

void xs_table_column(struct xs_table *t, bool is_text, const char *title)
{
    size_t i = t->n_columns++;
    snprintf(t->columns[i].title, sizeof(t->columns[i].title), "%s", title);
    t->columns[i].is_text = is_text;
    for (int line = 0; line < 2; line++) {
        size_t bytes;
        const char *text = title_line(t->columns[i].title, line, &bytes);
        t->columns[i].width = xs_max(t->columns[i].width, width_of(text, bytes));
    }
}

static void add_cell(struct xs_table *t, char *text)
{
    char **cells = realloc(t->cells, (t->n_cells + 1) * sizeof(*cells));
    if (cells == NULL || text == NULL)
        abort(); /* a few hundred bytes: nothing can be said any more either */
    t->cells = cells;
    size_t *width = &t->columns[t->n_cells % t->n_columns].width;
    *width = xs_max(*width, width_of(text, strlen(text)));
    t->cells[t->n_cells++] = text;
}

void xs_table_cell(struct xs_table *t, const char *fmt, ...)
{
    char text[256];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    add_cell(t, strdup(text));
}

void xs_table_rule(struct xs_table *t)
{
    t->rule_at = t->n_cells / t->n_columns;
}

static void print_padded(FILE *out, const char *text, size_t bytes, size_t width, bool is_text,
                         bool is_last)
{
    int pad = (int)(width - width_of(text, bytes));
    if (!is_text)
        fprintf(out, "%*s", pad, "");
    fwrite(text, 1, bytes, out);
    if (is_text && !is_last)
        fprintf(out, "%*s", pad, "");
    fputs(is_last ? "" : GAP, out);
}

static void print_titles(const struct xs_table *t, FILE *out, const struct style *style)
{
    bool has_two_lines = false;
    for (size_t i = 0; i < t->n_columns; i++)
        has_two_lines = has_two_lines || strchr(t->columns[i].title, '\n') != NULL;
    for (int line = has_two_lines ? 0 : 1; line < 2; line++) {
        fputs(style->bold, out);
        for (size_t i = 0; i < t->n_columns; i++) {
            size_t bytes;
            const char *text = title_line(t->columns[i].title, line, &bytes);
            print_padded(out, text, bytes, t->columns[i].width, t->columns[i].is_text,
                         i + 1 == t->n_columns);
        }
        fprintf(out, "%s\n", style->reset);
    }
}

/* Up to the last cell that is not empty: no line ends in blanks. */
static void print_row(const struct xs_table *t, FILE *out, char *const *cells)
{
    size_t n = t->n_columns;
    while (n > 0 && cells[n - 1][0] == '\0')
        n--;
    for (size_t i = 0; i < n; i++)
        print_padded(out, cells[i], strlen(cells[i]), t->columns[i].width, t->columns[i].is_text,
                     i + 1 == n);
    fputc('\n', out);
}

static void print_rule(const struct xs_table *t, FILE *out, const struct style *style)
{
    if (style->line[0] == '\0')
        return;
    fputs(style->dim, out);
    for (size_t i = 0; i < t->n_columns; i++) {
        size_t width = t->columns[i].width + (i + 1 == t->n_columns ? 0 : strlen(GAP));
        for (size_t n = 0; n < width; n++)
            fputs(style->line, out);
    }
    fprintf(out, "%s\n", style->reset);
}

static struct style style_for(FILE *out, enum xs_color color)
{
    struct style style = {"", "", "", xs_terminal_has_boxes(out) ? "\xe2\x94\x80" : ""};
    if (xs_terminal_has_color(out, color)) {
        style.bold = "\033[1m";
        style.dim = "\033[2m";
        style.reset = "\033[0m";
    }
    return style;
}

void xs_table_print(struct xs_table *t, FILE *out, enum xs_color color)
{
    struct style style = style_for(out, color);
    print_titles(t, out, &style);
    print_rule(t, out, &style);
    for (size_t row = 0; row < t->n_cells / t->n_columns; row++) {
        if (row > 0 && row == t->rule_at)
            print_rule(t, out, &style);
        print_row(t, out, t->cells + row * t->n_columns);
    }
}

void xs_table_clear(struct xs_table *t)
{
    for (size_t i = 0; i < t->n_cells; i++)
        free(t->cells[i]);
    free(t->cells);
    *t = (struct xs_table){0};
}
