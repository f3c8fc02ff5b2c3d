#include "report/snapshot_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/thread.h"
#include "core/reading.h"
#include "core/runtime.h"
#include "report/snapshot_take.h"
#include "report/snapshot_write.h"

bool xs_snapshot_name_of(const char *path, int pid, char *out, size_t size)
{
    size_t length = 0;
    for (; *path && length + 24 < size; path++) {
        if (path[0] == '%' && path[1] == 'p') {
            length += (size_t)snprintf(out + length, 24, "%d", pid);
            path++;
        } else {
            out[length++] = *path;
        }
    }
    out[length] = '\0';
    return !*path;
}

static bool ends_in_json(const char *path)
{
    size_t length = strlen(path);
    return length >= 5 && strcmp(path + length - 5, ".json") == 0;
}

static enum xseg_result write_file(const char *path, const struct xs_snapshot *s, size_t n)
{
    char name[PATH_MAX + 32];
    snprintf(name, sizeof(name), "%s.%d.part", path, (int)getpid());
    unlink(name); /* of a process that had this id before, and was stopped */
    int fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return xs_fail(XSEG_ERROR_IO, "%s: %s", name, strerror(errno));
    bool ok = xs_snapshot_write(xs_out_to_fd, XS_OUT_FD(fd), !ends_in_json(path), s, n);
    if (close(fd))
        ok = false;
    if (ok && !rename(name, path))
        return XSEG_OK;
    int code = errno;
    unlink(name);
    return xs_fail(XSEG_ERROR_IO, "%s: %s", path, strerror(code));
}

enum xseg_result xs_snapshot_save(const char *pattern)
{
    char path[PATH_MAX];
    if (!xs_snapshot_name_of(pattern, getpid(), path, sizeof(path)))
        return xs_fail(XSEG_ERROR_IO, "the name of the snapshot is too long");
    struct xs_array memory = {0};
    if (!xs_array_reserve(&memory, XS_DEVICE_LIMIT * sizeof(struct xs_snapshot)))
        return xs_fail(XSEG_ERROR_HOST_MEMORY, "no host memory for a snapshot");
    struct xs_snapshot *s = memory.base;
    size_t n = 0;
    enum xseg_result e = XSEG_OK;
    for (int i = 0; i < XS_DEVICE_LIMIT && !e; i++) {
        struct xs_device *dev = xs_runtime_open_device(i);
        if (dev && !(e = xs_snapshot_take(&s[n], dev, &dev->main, xs_reading_device_free(dev))))
            n++;
    }
    if (!e)
        e = write_file(path, s, n);
    for (size_t i = 0; i < n; i++)
        xs_snapshot_drop(&s[i]);
    xs_array_drop(&memory);
    return e;
}
