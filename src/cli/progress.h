/* One line on standard error that is rewritten in place; nothing at all where that is no terminal. */
#ifndef XS_CLI_PROGRESS_H
#define XS_CLI_PROGRESS_H

#include "base/base.h"

struct xs_progress {
    bool is_shown;
    char label[48];
    uint64_t total;
    uint64_t last_ns; /* when it was last drawn */
};

void xs_progress_begin(struct xs_progress *p, const char *label, uint64_t total);
/* Draws at most ten times a second. */
void xs_progress_update(struct xs_progress *p, uint64_t done);
void xs_progress_end(struct xs_progress *p);

#endif
