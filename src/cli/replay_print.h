/* What `xseg replay` shows: one JSON object a trace, or tables of all. Prints to standard output. */
#ifndef XS_CLI_REPLAY_PRINT_H
#define XS_CLI_REPLAY_PRINT_H

#include "cli/replay.h"
#include "cli/terminal.h"

/* A replay and the trace that it was of. */
struct xs_replay_row {
    char name[64]; /* the trace's, without folder and ending */
    struct xs_trace_header header;
    struct xs_replay replay;
};

void xs_replay_print_json(const struct xs_replay_row *row, const struct xs_cuda *cuda,
                          const struct xs_replay_options *options);
/* The title, the first passes with the geometric mean of the ratios, the later passes, and a line for
 * each trace in which something went wrong. */
void xs_replay_print_tables(const struct xs_replay_row *rows, size_t n, const struct xs_cuda *cuda,
                            const struct xs_replay_options *options, enum xs_color color);

#endif
