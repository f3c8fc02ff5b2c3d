#include "bench/bench_trace.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bench/failure.h"

static bool write_all(int fd, const void *data, size_t bytes)
{
    const char *at = data;
    while (bytes > 0) {
        ssize_t n = write(fd, at, bytes);
        if (n <= 0)
            return xs_bench_fail("a trace cannot be written");
        at += n;
        bytes -= (size_t)n;
    }
    return true;
}

bool xs_bench_trace_save(const struct xs_bench_trace *trace, int fd)
{
    return write_all(fd, trace, sizeof(*trace)) &&
           write_all(fd, trace->events, trace->n_events * sizeof(*trace->events));
}

bool xs_bench_trace_map(struct xs_bench_trace *trace, const char *path)
{
    struct stat info;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &info) != 0 || (size_t)info.st_size < sizeof(*trace)) {
        if (fd >= 0)
            close(fd);
        return xs_bench_fail("%s: cannot be read as a trace", path);
    }
    const char *base = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    if (base == MAP_FAILED)
        return xs_bench_fail("%s: cannot be mapped", path);
    memcpy(trace, base, sizeof(*trace));
    trace->events = (const struct xs_bench_event *)(base + sizeof(*trace));
    if ((size_t)info.st_size != sizeof(*trace) + trace->n_events * sizeof(*trace->events))
        return xs_bench_fail("%s: is not whole", path);
    return true;
}
