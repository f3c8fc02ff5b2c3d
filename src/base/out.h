/*
 * Where a report goes: a buffer in front of a function that writes. Once a write has failed nothing more is
 * written, and xs_out_end() says so. Allocates nothing. Not thread-safe.
 */
#ifndef XS_BASE_OUT_H
#define XS_BASE_OUT_H

#include <stdio.h>

#include "base/base.h"

/* False: could not be written. */
typedef bool (*xs_out_write)(void *ctx, const char *bytes, size_t n);

struct xs_out {
    xs_out_write write;
    void *ctx;
    bool failed;
    size_t used;
    char buffer[4096];
};

void xs_out_begin(struct xs_out *out, xs_out_write write, void *ctx);
/* Writes what is in the buffer. False: something was not written. */
bool xs_out_end(struct xs_out *out);

void xs_out_bytes(struct xs_out *out, const void *bytes, size_t n);
void xs_out_text(struct xs_out *out, const char *text);
/* Longer than 1,000 characters is cut. */
void xs_out_printf(struct xs_out *out, const char *fmt, ...) XS_PRINTF(2, 3);

/* Writers: ctx is a FILE, or a file descriptor as a pointer (XS_OUT_FD(fd)). */
bool xs_out_to_file(void *file, const char *bytes, size_t n);
bool xs_out_to_fd(void *fd, const char *bytes, size_t n);
#define XS_OUT_FD(fd) ((void *)(intptr_t)(fd))

/* ctx of xs_out_to_text(): a string that is cut where it is full, and always ends in NUL. */
struct xs_out_string {
    char *text;
    size_t size; /* at least 1 */
    size_t length;
};
bool xs_out_to_text(void *string, const char *bytes, size_t n);

#endif
