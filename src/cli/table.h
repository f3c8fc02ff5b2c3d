/*
 * A table of text, columns aligned: set the columns, add cells row by row, print. Colour and lines
 * only where terminal.h allows them; in a pipe it is plain text.
 */
#ifndef XS_CLI_TABLE_H
#define XS_CLI_TABLE_H

#include "cli/terminal.h"

#define XS_TABLE_COLUMNS_MAX 32

struct xs_table {
    size_t n_columns;
    struct {
        char title[64]; /* a newline begins its second line */
        bool is_text;   /* aligned to the left; numbers to the right */
        size_t width;
    } columns[XS_TABLE_COLUMNS_MAX];
    char **cells;
    size_t n_cells;
    size_t rule_at; /* the row that a line is drawn above; 0: none */
};

void xs_table_column(struct xs_table *t, bool is_text, const char *title);
/* The next cell of the row; the row is full after as many as there are columns. */
void xs_table_cell(struct xs_table *t, const char *fmt, ...) XS_PRINTF(2, 3);
/* Draws a line above the next row. */
void xs_table_rule(struct xs_table *t);
void xs_table_print(struct xs_table *t, FILE *out, enum xs_color color);
/* Makes the table as empty as = {0}. */
void xs_table_clear(struct xs_table *t);

#endif
