/* The rows of a benchmark for a person to read. Not thread-safe. */
#ifndef XS_CLI_BENCH_TABLE_H
#define XS_CLI_BENCH_TABLE_H

#include "base/base.h"
#include "bench/row.h"
#include "cli/terminal.h"

struct xs_bench_rows {
    size_t n;
    struct xs_row *rows;
};

void xs_bench_rows_add(struct xs_bench_rows *rows, const struct xs_row *row);
void xs_bench_rows_clear(struct xs_bench_rows *rows);
/* By workload, then by what was asked of it, then in the order in which they came. */
void xs_bench_table_print(const struct xs_bench_rows *rows, FILE *out, enum xs_color color);

#endif
