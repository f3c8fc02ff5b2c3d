#include "base/out.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

void xs_out_begin(struct xs_out *out, xs_out_write write, void *ctx)
{
    out->write = write;
    out->ctx = ctx;
    out->failed = false;
    out->used = 0;
}

static void flush(struct xs_out *out)
{
    if (out->used && !out->failed)
        out->failed = !out->write(out->ctx, out->buffer, out->used);
    out->used = 0;
}

bool xs_out_end(struct xs_out *out)
{
    flush(out);
    return !out->failed;
}

void xs_out_bytes(struct xs_out *out, const void *bytes, size_t n)
{
    const char *from = bytes;
    while (n > 0) {
        size_t part = xs_min(n, sizeof(out->buffer) - out->used);
        memcpy(out->buffer + out->used, from, part);
        out->used += part;
        from += part;
        n -= part;
        if (out->used == sizeof(out->buffer))
            flush(out);
    }
}

void xs_out_text(struct xs_out *out, const char *text)
{
    xs_out_bytes(out, text, strlen(text));
}

void xs_out_printf(struct xs_out *out, const char *fmt, ...)
{
    char text[1001];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    xs_out_text(out, text);
}

bool xs_out_to_file(void *file, const char *bytes, size_t n)
{
    return fwrite(bytes, 1, n, file) == n;
}

bool xs_out_to_fd(void *fd, const char *bytes, size_t n)
{
    while (n > 0) {
        ssize_t written = write((int)(intptr_t)fd, bytes, n);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return false;
        bytes += written;
        n -= (size_t)written;
    }
    return true;
}

bool xs_out_to_text(void *string, const char *bytes, size_t n)
{
    struct xs_out_string *s = string;
    size_t part = xs_min(n, s->size - 1 - s->length);
    memcpy(s->text + s->length, bytes, part);
    s->length += part;
    s->text[s->length] = '\0';
    return true;
}
