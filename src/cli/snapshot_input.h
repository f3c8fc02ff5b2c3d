/* Snapshots as they are named on the command line: a snapshot's file, or a trace's. */
#ifndef XS_CLI_SNAPSHOT_INPUT_H
#define XS_CLI_SNAPSHOT_INPUT_H

#include "report/snapshot_read.h"

/* Reads a pickle, or a trace (plain or gzip, "-" standard input), or, of a number that is no file, the snapshot that the process
 * writes when it is asked to, if it was told how (snapshot_signal, snapshot_path). Errors as xs_snapshots_read() and xs_trace_load(). */
enum xseg_result xs_snapshot_input_load(struct xs_snapshots *set, const char *path);

#endif
