/*
 * One result: a workload at one setting by one contestant. As a line of JSON it goes from an outside
 * program to xseg bench, and from there to whoever asked for --json.
 */
#ifndef XS_BENCH_ROW_H
#define XS_BENCH_ROW_H

#include <stdio.h>

#include "bench/failure.h"
#include "bench/units.h"

#define XS_ROW_EXTRAS_MAX 8

struct xs_row {
    char bench[24];
    char contestant[32];
    char driver[8]; /* "cuda", "sim" */
    char trace[96]; /* "": none */
    unsigned threads;
    unsigned cores;     /* that the process may use */
    uint64_t size;      /* of a block; 0: many */
    double ns_per_pair; /* NaN: could not be measured, here and below */
    double p50_ns;
    double p999_ns;
    double control_ns;
    char error[XS_BENCH_FAILURE_BYTES]; /* why there are no figures; "": there are */
    size_t n_extras;                    /* what this workload alone has */
    struct {
        char name[32];
        double value;
    } extras[XS_ROW_EXTRAS_MAX];
};

void xs_row_extra(struct xs_row *row, const char *name, double value);
/* NaN where there is no such extra. */
double xs_row_find_extra(const struct xs_row *row, const char *name);

void xs_row_write(const struct xs_row *row, FILE *out);
/* False: the line is not an object of texts and numbers, or lacks a field. */
bool xs_row_read(struct xs_row *row, const char *line);

#endif
