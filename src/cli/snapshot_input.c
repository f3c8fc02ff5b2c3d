#include "cli/snapshot_input.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "cli/trace_input.h"

static bool begins_as_pickle(const char *path)
{
    unsigned char first = 0;
    int fd = strcmp(path, "-") == 0 ? -1 : open(path, O_RDONLY | O_CLOEXEC);
    bool is_pickle = fd >= 0 && read(fd, &first, 1) == 1 && first == 0x80;
    if (fd >= 0)
        close(fd);
    return is_pickle;
}

/* The whole file; mapped privately, so that a change of it is not seen in part. */
static enum xseg_result load_pickle(struct xs_snapshots *set, const char *path)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st)) {
        int code = errno;
        if (fd >= 0)
            close(fd);
        return xs_fail(XSEG_ERROR_IO, "%s: %s", path, strerror(code));
    }
    void *data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    if (data == MAP_FAILED)
        return xs_fail(XSEG_ERROR_IO, "%s: %s", path, strerror(errno));
    enum xseg_result e = xs_snapshots_read(set, path, data, (size_t)st.st_size);
    munmap(data, (size_t)st.st_size);
    return e;
}

static enum xseg_result load_trace(struct xs_snapshots *set, const char *path)
{
    struct xs_trace trace;
    enum xseg_result e = xs_trace_input_load(&trace, path);
    if (e)
        return e;
    e = xs_snapshots_of_trace(set, &trace);
    xs_trace_unload(&trace);
    return e;
}

enum xseg_result xs_snapshot_input_load(struct xs_snapshots *set, const char *path)
{
    return begins_as_pickle(path) ? load_pickle(set, path) : load_trace(set, path);
}
