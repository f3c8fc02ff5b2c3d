#include "cli/snapshot_input.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "cli/trace_input.h"
#include "report/page.h"
#include "report/snapshot_file.h"

/* No trace begins so: a pickle, or a snapshot as JSON. */
static bool begins_as_snapshot(const char *path)
{
    unsigned char first = 0;
    int fd = strcmp(path, "-") == 0 ? -1 : open(path, O_RDONLY | O_CLOEXEC);
    bool is_snapshot = fd >= 0 && read(fd, &first, 1) == 1 && (first == 0x80 || first == '{');
    if (fd >= 0)
        close(fd);
    return is_snapshot;
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

/* ---- a running process ------------------------------------------------------------------------ */

static int pid_of(const char *text)
{
    char *end;
    long pid = strtol(text, &end, 10);
    return !*end && end != text && pid > 0 && pid <= INT32_MAX && access(text, F_OK) ? (int)pid : 0;
}

static bool is_newer(const char *path, const struct stat *before)
{
    struct stat st;
    return !stat(path, &st) &&
           (st.st_ino != before->st_ino || st.st_mtim.tv_sec != before->st_mtim.tv_sec ||
            st.st_mtim.tv_nsec != before->st_mtim.tv_nsec);
}

/* The file is written aside and renamed: once it is there it is whole. */
static enum xseg_result ask(int pid, int number, const char *path)
{
    struct stat before;
    const struct timespec pause = {0, 20000000};
    memset(&before, 0, sizeof(before));
    stat(path, &before);
    if (kill(pid, number))
        return xs_fail(XSEG_ERROR_IO, "process %d: %s", pid, strerror(errno));
    for (unsigned i = 0; i < 500; i++) {
        if (is_newer(path, &before))
            return XSEG_OK;
        nanosleep(&pause, NULL);
    }
    return xs_fail(XSEG_ERROR_IO, "process %d: wrote no %s within ten seconds", pid, path);
}

static enum xseg_result load_process(struct xs_snapshots *set, int pid)
{
    char path[4096], pattern[sizeof(((struct xs_page *)0)->snapshot_path)];
    const char *why;
    const struct xs_page *page = xs_page_map(pid, &why);
    if (!page)
        return xs_fail(XSEG_ERROR_IO, "%d: %s", pid, why);
    int number = (int)page->snapshot_signal;
    snprintf(pattern, sizeof(pattern), "%s", page->snapshot_path);
    xs_page_unmap(page);
    if (!number || !xs_snapshot_name_of(pattern, pid, path, sizeof(path)))
        return xs_fail(XSEG_ERROR_IO,
                       "process %d writes no snapshots: start it with "
                       "ALLOC_CONF=snapshot_signal:10,snapshot_path:/tmp/m-%%p.pickle",
                       pid);
    enum xseg_result e = ask(pid, number, path);
    return e ? e : load_pickle(set, path);
}

enum xseg_result xs_snapshot_input_load(struct xs_snapshots *set, const char *path)
{
    int pid = pid_of(path);
    if (pid)
        return load_process(set, pid);
    return begins_as_snapshot(path) ? load_pickle(set, path) : load_trace(set, path);
}
