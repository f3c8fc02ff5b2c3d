/*
 * Where the text of a trace comes from, line by line: a file, standard input or memory, plain or
 * gzip. Knows nothing of the format. Not thread-safe.
 */
#ifndef XS_REPORT_TRACE_SOURCE_H
#define XS_REPORT_TRACE_SOURCE_H

#include <sys/types.h>

#include "report/array.h"

#define XS_TRACE_NAME_BYTES  160
#define XS_TRACE_LINE_MAX    4096
#define XS_TRACE_QUOTE_BYTES 64

struct xs_trace_source {
    char name[XS_TRACE_NAME_BYTES]; /* for messages; a long path loses its front */
    uint64_t line;                  /* number of the line that was read last, from 1 */

    int fd;         /* what is read: the file, or the pipe from gzip; -1: memory only */
    pid_t child;    /* gzip, until it has been waited for; 0: none */
    int complaints; /* a file in memory that holds gzip's standard error; -1: none */
    struct xs_array buffer;
    const char *data; /* bytes begin..end of it are not yet read */
    size_t begin;
    size_t end;
    bool at_eof; /* no more bytes will come after data[end] */
};

/* Path "-" is standard input. Gzip is told by its magic bytes, and decompressed by a `gzip -dc` child.
 * Errors: IO, HOST_MEMORY; then nothing is left to close. */
enum xseg_result xs_trace_source_open(struct xs_trace_source *s, const char *path);
/* Plain text in memory, which must live until the source is closed. */
void xs_trace_source_open_memory(struct xs_trace_source *s, const char *name, const char *text,
                                 size_t bytes);
/* The next line, without its newline, valid until the next call; *line is NULL at the end. A line that
 * is too long, or that holds a NUL byte, and a stream that gzip finds cut or corrupt, are errors. */
enum xseg_result xs_trace_source_line(struct xs_trace_source *s, const char **line, size_t *len);
/* Also ends the child. */
void xs_trace_source_close(struct xs_trace_source *s);

/* Offending text for a message: one line, printable, cut where it is long. Returns `out`. */
const char *xs_trace_quote(char out[XS_TRACE_QUOTE_BYTES], const char *text, size_t len);

#endif
