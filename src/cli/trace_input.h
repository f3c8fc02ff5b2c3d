/* A trace as it is named on the command line. */
#ifndef XS_CLI_TRACE_INPUT_H
#define XS_CLI_TRACE_INPUT_H

#include "report/trace_file.h"

/* Reads a whole trace from a file, or from standard input ("-"). Errors as xs_trace_open() and xs_trace_load();
 * *trace is untouched then. */
enum xseg_result xs_trace_input_load(struct xs_trace *trace, const char *path);

/* The file's name without its folder and without ".trace.gz", ".trace" or ".gz"; "stdin" for "-". */
void xs_trace_input_name(char *name, size_t bytes, const char *path);

#endif
