#include "cli/bench_traces.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/error.h"
#include "cli/trace_input.h"

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
    struct xs_trace whole;
    enum xseg_result result = xs_trace_input_load(&whole, path);
    if (result != XSEG_OK)
        return result;
    xs_trace_input_name(trace->name, sizeof(trace->name), path);
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
