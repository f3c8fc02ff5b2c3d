/* Processes as a table: a line for each device of each. */
#ifndef XS_CLI_PROCESS_TABLE_H
#define XS_CLI_PROCESS_TABLE_H

#include "cli/processes.h"
#include "cli/terminal.h"

/* Where there is none, that is said. */
void xs_process_table_print(const struct xs_process *processes, size_t n, enum xs_color color);

#endif
