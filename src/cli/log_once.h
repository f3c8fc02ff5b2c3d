/*
 * The library's log, each line once: every trace configures a fresh allocator, which then has the
 * same to say again. Not thread-safe; from begin to end the log is redirected.
 */
#ifndef XS_CLI_LOG_ONCE_H
#define XS_CLI_LOG_ONCE_H

#include "base/base.h"

#define XS_LOG_ONCE_MAX 64 /* different lines that are remembered; further ones are all shown */

struct xs_log_once {
    bool is_silent; /* XSEG_LOG=0 */
    uint64_t seen[XS_LOG_ONCE_MAX];
};

void xs_log_once_begin(struct xs_log_once *log);
void xs_log_once_end(void);

#endif
