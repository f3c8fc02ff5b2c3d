/* The processes of this user that run xseg, by the pages that they show (report/page.h). */
#ifndef XS_CLI_PROCESSES_H
#define XS_CLI_PROCESSES_H

#include "report/page.h"

#define XS_COMMAND_BYTES 32

struct xs_process {
    int pid;
    char command[XS_COMMAND_BYTES]; /* as the kernel has it, printable */
    const struct xs_page *page;
};

#define XS_PROCESSES_MAX 256

/* Those whose pages can be believed, by number; what dead ones have left is removed. Returns how many. */
size_t xs_processes_find(struct xs_process *out);
/* NULL: *why says why. */
bool xs_process_open(struct xs_process *out, int pid, const char **why);
void xs_process_close(struct xs_process *process);

/* Bytes a second that reserved memory grew by, over the samples of the last ten seconds; and how old a reading is. */
double xs_process_growth(const struct xs_page_device *device);
double xs_process_age_seconds(const struct xs_page_device *device);

#endif
