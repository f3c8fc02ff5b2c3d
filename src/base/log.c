#include "base/log.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef void (*log_sink)(void *ctx, const char *line);

static void write_stderr(void *ctx, const char *line)
{
    (void)ctx;
    const char *level = getenv("XSEG_LOG");
    if (level && strcmp(level, "0") == 0)
        return;
    char text[600];
    int n = snprintf(text, sizeof(text), "xseg: %s\n", line);
    size_t len = xs_min((size_t)n, sizeof(text) - 1);
    text[len - 1] = '\n';                              /* also where the line was cut */
    ssize_t written = write(STDERR_FILENO, text, len); /* one call, so lines do not mix */
    (void)written;
}

static struct {
    _Atomic log_sink sink;
    _Atomic(void *) ctx;
} target = {write_stderr, NULL};

void xs_log(const char *fmt, ...)
{
    char line[560];
    va_list args;
    va_start(args, fmt);
    vsnprintf(line, sizeof(line), fmt, args);
    va_end(args);
    log_sink sink = atomic_load(&target.sink);
    sink(atomic_load(&target.ctx), line);
}

void xs_log_redirect(void (*sink)(void *ctx, const char *line), void *ctx)
{
    atomic_store(&target.ctx, ctx);
    atomic_store(&target.sink, sink ? sink : write_stderr);
}
