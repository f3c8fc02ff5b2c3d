/*
 * A child process decompresses, so that no compression library is needed to build. Its exit status
 * is what tells a whole stream from a cut one, so it is asked before the last line, which a cut
 * stream leaves incomplete, is handed out.
 *
 *   file, stdin ── plain ──────────────────────────────→ buffer → lines
 *                └ gzip ─(rewound, or spooled if a pipe)→ gzip -dc ─→ buffer → lines
 *
 * gzip needs the bytes that were read to see the magic. A pipe cannot be rewound, so a compressed
 * pipe is copied into a file in memory first; a plain one is read as it comes.
 */
#include "report/trace_source.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"

#define BUFFER_BYTES (256 * XS_KIB)

static void set_name(struct xs_trace_source *s, const char *name)
{
    size_t len = strlen(name);
    bool fits = len < sizeof(s->name);
    snprintf(s->name, sizeof(s->name), "%s%s", fits ? "" : "...",
             fits ? name : name + len - (sizeof(s->name) - 4));
}

static void close_fd(int *fd)
{
    if (*fd > STDERR_FILENO)
        close(*fd);
    *fd = -1;
}

/* ---- the child ------------------------------------------------------------------------------- */

static int wait_for(pid_t child)
{
    int status = -1;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    return status;
}

/* The first line that gzip wrote to its standard error. */
static void read_complaint(int fd, char *text, size_t bytes)
{
    ssize_t n = pread(fd, text, bytes - 1, 0);
    text[n > 0 ? n : 0] = '\0';
    char *first = text + strspn(text, "\n ");
    first[strcspn(first, "\n")] = '\0';
    memmove(text, first, strlen(first) + 1);
}

/* At the end of the child's output: did it like what it read? */
static enum xseg_result finish_child(struct xs_trace_source *s)
{
    int status = wait_for(s->child);
    s->child = 0;
    if (status == 0)
        return XSEG_OK;
    char text[200];
    read_complaint(s->complaints, text, sizeof(text));
    if (text[0] == '\0')
        snprintf(text, sizeof(text), "gzip ended with status %d", status);
    return xs_fail(XSEG_ERROR_IO, "%s: cut or corrupt after line %llu: %s", s->name,
                   (unsigned long long)s->line, text);
}

static int spawn_gzip(int in, int out, int complaints, pid_t *child)
{
    char *argv[] = {(char *)"gzip", (char *)"-dc", NULL};
    char *env[] = {(char *)"LC_ALL=C", NULL};
    posix_spawn_file_actions_t actions;
    int code = posix_spawn_file_actions_init(&actions);
    if (code != 0)
        return code;
    code = posix_spawn_file_actions_adddup2(&actions, in, STDIN_FILENO);
    code = code ? code : posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
    code = code ? code : posix_spawn_file_actions_adddup2(&actions, complaints, STDERR_FILENO);
    code = code ? code : posix_spawnp(child, "gzip", &actions, NULL, argv, env);
    posix_spawn_file_actions_destroy(&actions);
    return code;
}

/* From here on the lines come out of gzip, which reads s->fd from where it stands. */
static enum xseg_result start_gzip(struct xs_trace_source *s)
{
    int pipe_fds[2];
    s->complaints = memfd_create("xseg-gzip-stderr", MFD_CLOEXEC);
    if (s->complaints < 0 || pipe2(pipe_fds, O_CLOEXEC) != 0)
        return xs_fail(XSEG_ERROR_IO, "%s: cannot decompress: %s", s->name, strerror(errno));
    int code = spawn_gzip(s->fd, pipe_fds[1], s->complaints, &s->child);
    close(pipe_fds[1]);
    close_fd(&s->fd);
    s->fd = pipe_fds[0];
    s->begin = s->end = 0;
    s->at_eof = false;
    if (code != 0) {
        s->child = 0;
        return xs_fail(XSEG_ERROR_IO, "%s: cannot start gzip: %s", s->name, strerror(code));
    }
    return XSEG_OK;
}

/* ---- bytes ----------------------------------------------------------------------------------- */

static ssize_t read_some(int fd, void *to, size_t bytes)
{
    ssize_t n;
    do {
        n = read(fd, to, bytes);
    } while (n < 0 && errno == EINTR);
    return n;
}

static enum xseg_result refill(struct xs_trace_source *s)
{
    char *buffer = s->buffer.base;
    memmove(buffer, buffer + s->begin, s->end - s->begin);
    s->end -= s->begin;
    s->begin = 0;
    ssize_t n = read_some(s->fd, buffer + s->end, s->buffer.bytes - s->end);
    if (n < 0)
        return xs_fail(XSEG_ERROR_IO, "%s: cannot read: %s", s->name, strerror(errno));
    s->end += (size_t)n;
    s->at_eof = n == 0;
    return s->at_eof && s->child != 0 ? finish_child(s) : XSEG_OK;
}

static bool write_all(int fd, const char *from, size_t bytes)
{
    while (bytes > 0) {
        ssize_t n = write(fd, from, bytes);
        if (n < 0 && errno != EINTR)
            return false;
        from += n > 0 ? n : 0;
        bytes -= n > 0 ? (size_t)n : 0;
    }
    return true;
}

/* Copies what was read and what is still to come of a pipe into a file in memory. */
static bool spool(struct xs_trace_source *s)
{
    int fd = memfd_create("xseg-trace", MFD_CLOEXEC);
    if (fd < 0)
        return false;
    ssize_t n = (ssize_t)s->end;
    while (n > 0 && write_all(fd, s->buffer.base, (size_t)n))
        n = read_some(s->fd, s->buffer.base, s->buffer.bytes);
    close_fd(&s->fd);
    s->fd = fd;
    return n == 0 && lseek(fd, 0, SEEK_SET) == 0;
}

static bool is_gzip(const struct xs_trace_source *s)
{
    return s->end >= 2 && s->data[0] == '\x1f' && s->data[1] == '\x8b';
}

static enum xseg_result start(struct xs_trace_source *s)
{
    if (!xs_array_reserve(&s->buffer, BUFFER_BYTES))
        return xs_fail(XSEG_ERROR_HOST_MEMORY, "%s: no memory for a buffer", s->name);
    s->data = s->buffer.base;
    while (s->end < 2 && !s->at_eof) {
        enum xseg_result result = refill(s);
        if (result != XSEG_OK)
            return result;
    }
    if (!is_gzip(s))
        return XSEG_OK;
    if (lseek(s->fd, -(off_t)s->end, SEEK_CUR) < 0 && !spool(s))
        return xs_fail(XSEG_ERROR_IO, "%s: cannot read: %s", s->name, strerror(errno));
    return start_gzip(s);
}

/* ---- the source ------------------------------------------------------------------------------ */

enum xseg_result xs_trace_source_open(struct xs_trace_source *s, const char *path)
{
    bool is_stdin = strcmp(path, "-") == 0;
    *s = (struct xs_trace_source){.fd = -1, .complaints = -1};
    set_name(s, is_stdin ? "stdin" : path);
    s->fd = is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    if (s->fd < 0)
        return xs_fail(XSEG_ERROR_IO, "%s: cannot open: %s", s->name, strerror(errno));
    enum xseg_result result = start(s);
    if (result != XSEG_OK)
        xs_trace_source_close(s);
    return result;
}

void xs_trace_source_open_memory(struct xs_trace_source *s, const char *name, const char *text,
                                 size_t bytes)
{
    *s = (struct xs_trace_source){.fd = -1, .complaints = -1, .at_eof = true};
    set_name(s, name);
    s->data = text;
    s->end = bytes;
}

const char *xs_trace_quote(char out[XS_TRACE_QUOTE_BYTES], const char *text, size_t len)
{
    size_t shown = xs_min(len, XS_TRACE_QUOTE_BYTES - 4);
    for (size_t i = 0; i < shown; i++)
        out[i] = text[i] >= ' ' && text[i] <= '~' ? text[i] : '?';
    strcpy(out + shown, len > shown ? "..." : "");
    return out;
}

/* Bytes begin..begin+len are a line, or as much of one as is allowed to be and more. */
static enum xseg_result take_line(struct xs_trace_source *s, size_t len, const char **line)
{
    char quote[XS_TRACE_QUOTE_BYTES];
    *line = s->data + s->begin;
    s->line++;
    if (len > XS_TRACE_LINE_MAX) {
        return xs_fail(XSEG_ERROR_IO, "%s:%llu: line too long: more than %d bytes: '%s'", s->name,
                       (unsigned long long)s->line, XS_TRACE_LINE_MAX,
                       xs_trace_quote(quote, *line, len));
    }
    const char *nul = memchr(*line, '\0', len);
    if (nul != NULL) {
        return xs_fail(XSEG_ERROR_IO, "%s:%llu: NUL byte after '%s'", s->name,
                       (unsigned long long)s->line,
                       xs_trace_quote(quote, *line, (size_t)(nul - *line)));
    }
    s->begin = xs_min(s->begin + len + 1, s->end);
    return XSEG_OK;
}

enum xseg_result xs_trace_source_line(struct xs_trace_source *s, const char **line, size_t *len)
{
    for (;;) {
        const char *from = s->data + s->begin;
        size_t have = s->end - s->begin;
        const char *newline = have == 0 ? NULL : memchr(from, '\n', have);
        if (newline != NULL || have > XS_TRACE_LINE_MAX || (s->at_eof && have > 0)) {
            *len = newline != NULL ? (size_t)(newline - from) : have;
            return take_line(s, *len, line);
        }
        if (s->at_eof) {
            *line = NULL;
            *len = 0;
            return XSEG_OK;
        }
        enum xseg_result result = refill(s);
        if (result != XSEG_OK)
            return result;
    }
}

void xs_trace_source_close(struct xs_trace_source *s)
{
    close_fd(&s->fd); /* before the wait: a gzip that is still writing ends by it */
    if (s->child != 0)
        wait_for(s->child);
    close_fd(&s->complaints);
    xs_array_drop(&s->buffer);
    *s = (struct xs_trace_source){.fd = -1, .complaints = -1};
}
