/* A policy in a file. The buffer is mapped, not allocated: this may run inside the program's
 * malloc. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "policy/conf.h"

enum { kPathMax = 4096, kBufferBytes = XS_CONF_TEXT_MAX + 1 };

static const char kErrno[] = "errno"; /* as a reason: what errno says */
static const char kTooLong[] = "longer than 64 KiB";

static enum xseg_result refuse(struct xs_conf_report *report, const char *source,
                               struct xs_slice path, const char *reason)
{
    char quote[XS_CONF_QUOTE_BYTES], text[80];
    snprintf(text, sizeof(text), "%m");
    snprintf(report->source, sizeof(report->source), "%s", source);
    report->input[0] = '\0';
    xs_conf_report_add(report, XS_CONF_ERROR, 0, 0, "cannot read '%s': %s",
                       xs_conf_quote(path, quote), reason == kErrno ? text : reason);
    return xs_conf_fail(report);
}

/* Up to `size` bytes; negative: errno says why. */
static ssize_t read_all(int fd, char *buffer, size_t size)
{
    size_t n = 0;
    while (n < size) {
        ssize_t got = read(fd, buffer + n, size - n);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return got < 0 ? got : (ssize_t)n;
        n += (size_t)got;
    }
    return (ssize_t)n;
}

/* NULL: it is in the buffer; else why not. */
static const char *read_regular(int fd, char buffer[kBufferBytes], size_t *len)
{
    struct stat st;
    if (fstat(fd, &st) != 0)
        return kErrno;
    if (!S_ISREG(st.st_mode))
        return "not a regular file";
    ssize_t n = read_all(fd, buffer, kBufferBytes);
    if (n < 0)
        return kErrno;
    if (n > XS_CONF_TEXT_MAX)
        return kTooLong;
    *len = (size_t)n;
    return NULL;
}

static const char *read_path(struct xs_slice path, char buffer[kBufferBytes], size_t *len)
{
    char name[kPathMax];
    if (path.len == 0)
        return "no path after '@'";
    if (path.len >= sizeof(name))
        return "the path is too long";
    memcpy(name, path.at, path.len);
    name[path.len] = '\0';
    int fd = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a FIFO must not make us wait */
    if (fd < 0)
        return kErrno;
    const char *reason = read_regular(fd, buffer, len);
    int saved = errno;
    close(fd);
    errno = saved;
    return reason;
}

enum xseg_result xs_conf_apply_file(struct xs_slice path, const char *source,
                                    struct xs_policy *policy, struct xs_conf_report *report)
{
    char name[XS_CONF_SOURCE_BYTES], quote[XS_CONF_QUOTE_BYTES];
    size_t len = 0;
    char *buffer =
        mmap(NULL, kBufferBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (buffer == MAP_FAILED)
        return refuse(report, source, path, kErrno);
    const char *reason = read_path(path, buffer, &len);
    enum xseg_result result;
    if (reason) {
        result = refuse(report, source, path, reason);
    } else {
        snprintf(name, sizeof(name), "file %.90s", xs_conf_quote(path, quote));
        result = xs_conf_apply_lines(buffer, len, name, policy, report);
    }
    munmap(buffer, kBufferBytes);
    return result;
}
