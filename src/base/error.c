#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/thread.h"

enum xseg_result xs_fail(enum xseg_result result, const char *fmt, ...)
{
    char text[XS_ERROR_TEXT_BYTES]; /* the arguments may point into the old text */
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    struct xs_thread *t = xs_thread_self();
    if (t)
        memcpy(t->error_text, text, sizeof(text));
    return result;
}

const char *xs_error_text(void)
{
    struct xs_thread *t = xs_thread_self();
    return t ? t->error_text : "";
}

void xs_error_clear(void)
{
    struct xs_thread *t = xs_thread_self();
    if (t)
        t->error_text[0] = '\0';
}
