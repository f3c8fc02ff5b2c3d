#include "cli/bench_table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/fmt.h"
#include "bench/workload.h"
#include "cli/table.h"

/* ---- rows ------------------------------------------------------------------------------------ */

void xs_bench_rows_add(struct xs_bench_rows *rows, const struct xs_row *row)
{
    struct xs_row *more = realloc(rows->rows, (rows->n + 1) * sizeof(*more));
    if (more == NULL)
        abort(); /* a few hundred bytes: nothing can be said any more either */
    rows->rows = more;
    rows->rows[rows->n++] = *row;
}

void xs_bench_rows_clear(struct xs_bench_rows *rows)
{
    free(rows->rows);
    *rows = (struct xs_bench_rows){0};
}

static size_t rank_of(const struct xs_row *row)
{
    size_t i = 0;
    while (i < xs_n_workloads && strcmp(xs_workloads[i].name, row->bench) != 0)
        i++;
    return i;
}

static int compare_counts(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

/* Sizes of host allocators stand for none that was asked for: they come first. */
static int compare(const void *a, const void *b)
{
    const struct xs_row *const *x = a;
    const struct xs_row *const *y = b;
    int order = compare_counts(rank_of(*x), rank_of(*y));
    if (order == 0)
        order = strcmp((*x)->trace, (*y)->trace);
    if (order == 0)
        order = compare_counts((*x)->threads, (*y)->threads);
    if (order == 0)
        order = compare_counts((*x)->size, (*y)->size);
    return order != 0 ? order : compare_counts((uintptr_t)*x, (uintptr_t)*y);
}

/* ---- cells ----------------------------------------------------------------------------------- */

static void add_number(struct xs_table *t, double value, const char *unit)
{
    if (isfinite(value))
        xs_table_cell(t, "%.*f%s", value < 100 ? 1 : 0, value, unit);
    else
        xs_table_cell(t, "-");
}

static void add_extras(struct xs_table *t, const struct xs_row *row)
{
    char text[240] = "";
    size_t len = 0;
    for (size_t i = 0; i < row->n_extras && len < sizeof(text); i++) {
        double value = row->extras[i].value;
        bool is_whole = value == floor(value);
        len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%s %.*f", i == 0 ? "" : ", ",
                                row->extras[i].name, is_whole ? 0 : 2, value);
    }
    xs_table_cell(t, "%s", row->error[0] != '\0' ? row->error : text);
}

static void add_what(struct xs_table *t, const struct xs_row *row)
{
    char size[XS_FMT_BYTES];
    if (row->trace[0] != '\0')
        xs_table_cell(t, "%s", row->trace);
    else if (row->size == 0)
        xs_table_cell(t, "mixed");
    else
        xs_table_cell(t, "%s", xs_fmt_bytes(size, row->size));
}

static void add_row(struct xs_table *t, const struct xs_row *row)
{
    xs_table_cell(t, "%s", row->bench);
    add_what(t, row);
    xs_table_cell(t, "%u", row->threads);
    xs_table_cell(t, "%s", row->contestant);
    add_number(t, row->ns_per_pair, "");
    add_number(t, row->p50_ns, "");
    add_number(t, row->p999_ns, "");
    add_number(t, row->control_ns, "");
    add_number(t, row->ns_per_pair / row->control_ns, "x");
    add_extras(t, row);
}

void xs_bench_table_print(const struct xs_bench_rows *rows, FILE *out, enum xs_color color)
{
    struct xs_table t = {0};
    const struct xs_row **sorted = calloc(rows->n + 1, sizeof(*sorted));
    if (sorted == NULL)
        abort();
    for (size_t i = 0; i < rows->n; i++)
        sorted[i] = &rows->rows[i];
    qsort(sorted, rows->n, sizeof(*sorted), compare);
    xs_table_column(&t, true, "workload");
    xs_table_column(&t, true, "block");
    xs_table_column(&t, false, "threads");
    xs_table_column(&t, true, "contestant");
    xs_table_column(&t, false, "ns");
    xs_table_column(&t, false, "p50\nns");
    xs_table_column(&t, false, "p99.9\nns");
    xs_table_column(&t, false, "control\nns");
    xs_table_column(&t, false, "ratio to\ncontrol");
    xs_table_column(&t, true, "and");
    for (size_t i = 0; i < rows->n; i++)
        add_row(&t, sorted[i]);
    xs_table_print(&t, out, color);
    xs_table_clear(&t);
    free(sorted);
}
