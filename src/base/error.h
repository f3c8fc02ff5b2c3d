/*
 * The text of a thread's last error. Functions that fail say why, once, where they know it:
 *     return xs_fail(XSEG_ERROR_CONFIG, "%s:%zu: unknown key '%s'", source, column, key);
 * Thread-local; never allocates; the text of the latest failure stays until the next.
 */
#ifndef XS_BASE_ERROR_H
#define XS_BASE_ERROR_H

#include "base/base.h"

#define XS_ERROR_TEXT_BYTES 512

enum xseg_result xs_fail(enum xseg_result result, const char *fmt, ...) XS_PRINTF(2, 3);
/* "" when this thread has had none. */
const char *xs_error_text(void);
void xs_error_clear(void);

#endif
