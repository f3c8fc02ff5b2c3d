/*
 * One line on standard error, "xseg: ...". Never allocates, never called on a path that a cached
 * allocation takes. XSEG_LOG=0 silences it; looked up at each line.
 */
#ifndef XS_BASE_LOG_H
#define XS_BASE_LOG_H

#include "base/base.h"

void xs_log(const char *fmt, ...) XS_PRINTF(1, 2);
/* For tests and embedders: called with each line, without the newline, instead of writing it. */
void xs_log_redirect(void (*sink)(void *ctx, const char *line), void *ctx);

#endif
