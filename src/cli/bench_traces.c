#include "cli/bench_traces.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/error.h"
#include "report/trace_file.h"

/* The file's name without its folder and without ".trace.gz", ".trace" or ".gz". */
static void name_trace(char *name, size_t bytes, const char *path)
{
    static const char *const endings[] = {".gz", ".trace"};
    const char *slash = strrchr(path, '/');
    snprintf(name, bytes, "%s", strcmp(path, "-") == 0 ? "stdin" : slash ? slash + 1 : path);
    for (size_t i = 0; i < XS_COUNT_OF(endings); i++) {
        size_t len = strlen(name);
        size_t n = strlen(endings[i]);
        if (len > n && strcmp(name + len - n, endings[i]) == 0)
            name[len - n] = '\0';
    }
}

static enum xseg_result convert(struct xs_bench_trace *to, const struct xs_trace *from)
{
    struct xs_bench_event *events = calloc(from->header.events + 1, sizeof(*events));
    if (events == NULL)
        return xs_fail(XSEG_ERROR_HOST_MEMORY, "no memory for %llu events",
                       (unsigned long long)from->header.events);
    for (uint64_t i = 0; i < from->header.events; i++) {
        const struct xs_trace_event *e = &from->events[i];
        events[i] = (struct xs_bench_event){.size = e->size,
                                            .slot = e->slot,
                                            .stream = e->stream,
                                            .is_alloc = e->kind == XS_TRACE_ALLOC};
    }
    to->n_events = from->header.events;
    to->n_slots = from->n_slots;
    to->n_streams = xs_max(from->header.streams, 1);
    to->events = events;
    return XSEG_OK;
}

static enum xseg_result load_one(struct xs_bench_trace *trace, const char *path)
{
    struct xs_trace_file *file;
    struct xs_trace whole;
    enum xseg_result result = xs_trace_open(&file, path);
    if (result != XSEG_OK)
        return result;
    result = xs_trace_load(&whole, file);
    xs_trace_close(file);
    if (result != XSEG_OK)
        return result;
    name_trace(trace->name, sizeof(trace->name), path);
    result = convert(trace, &whole);
    xs_trace_unload(&whole);
    return result;
}

enum xseg_result xs_bench_traces_load(struct xs_bench_trace **traces, char **paths, size_t n)
{
    struct xs_bench_trace *all = calloc(n + 1, sizeof(*all));
    enum xseg_result result = XSEG_OK;
    if (all == NULL)
        return xs_fail(XSEG_ERROR_HOST_MEMORY, "no memory for %zu traces", n);
    for (size_t i = 0; i < n && result == XSEG_OK; i++)
        result = load_one(&all[i], paths[i]);
    if (result == XSEG_OK)
        *traces = all;
    else
        xs_bench_traces_unload(all, n);
    return result;
}

void xs_bench_traces_unload(struct xs_bench_trace *traces, size_t n)
{
    for (size_t i = 0; i < n; i++)
        free((void *)traces[i].events);
    free(traces);
}

int xs_bench_traces_share(const struct xs_bench_trace *trace)
{
    int fd = memfd_create("xseg-bench-trace", 0); /* not closed by exec */
    if (fd < 0 || xs_bench_trace_save(trace, fd))
        return fd;
    close(fd);
    return -1;
}
