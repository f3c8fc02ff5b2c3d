#include "cli/log_once.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"

/* FNV-1a; never 0, which marks a place that is free. */
static uint64_t hash_of(const char *line)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (const char *c = line; *c != '\0'; c++)
        hash = (hash ^ (unsigned char)*c) * 0x100000001b3u;
    return hash | 1;
}

static void show_once(void *ctx, const char *line)
{
    struct xs_log_once *log = ctx;
    uint64_t hash = hash_of(line);
    size_t i = 0;
    if (log->is_silent)
        return;
    while (i < XS_LOG_ONCE_MAX && log->seen[i] != 0 && log->seen[i] != hash)
        i++;
    if (i < XS_LOG_ONCE_MAX && log->seen[i] == hash)
        return;
    if (i < XS_LOG_ONCE_MAX)
        log->seen[i] = hash;
    fprintf(stderr, "xseg: %s\n", line);
}

void xs_log_once_begin(struct xs_log_once *log)
{
    const char *level = getenv("XSEG_LOG");
    *log = (struct xs_log_once){.is_silent = level != NULL && strcmp(level, "0") == 0};
    xs_log_redirect(show_once, log);
}

void xs_log_once_end(void)
{
    xs_log_redirect(NULL, NULL);
}
