/*
 * A recorded sequence of allocations and frees, in the text format that bench/traces/README.md
 * specifies. Everything that is not a whole, consistent trace is an error that names file and line
 * and quotes the text. Ids become dense slots, reused after a free, so that a replay keeps its
 * pointers in an array no longer than the most that were ever live. Not thread-safe.
 */
#ifndef XS_REPORT_TRACE_FILE_H
#define XS_REPORT_TRACE_FILE_H

#include "report/trace_source.h"

#define XS_TRACE_REFS_MAX    16
#define XS_TRACE_STREAMS_MAX 1024
#define XS_TRACE_SIZE_MAX    (((uint64_t)1 << 60) - 1)
#define XS_TRACE_ID_MAX      (((uint64_t)1 << 63) - 1)

/* What another allocator reserved in the run that was recorded. */
struct xs_trace_ref {
    char name[48];
    uint64_t peak_reserved;
};

struct xs_trace_header {
    char source[256]; /* "" if the trace does not say */
    uint64_t events;
    uint64_t peak_requested;
    uint32_t streams; /* stream numbers are below this */
    uint32_t n_refs;
    struct xs_trace_ref refs[XS_TRACE_REFS_MAX];
};

enum xs_trace_kind { XS_TRACE_END, XS_TRACE_ALLOC, XS_TRACE_FREE };

struct xs_trace_event {
    uint64_t size; /* of the block, also for a free */
    uint32_t slot;
    uint16_t stream; /* that the block was allocated on, also for a free */
    uint16_t kind;   /* enum xs_trace_kind */
};

/* ---- reading one event after the other ------------------------------------------------------- */

struct xs_trace_file;

/* Opens a file ("-": standard input), plain or gzip, and reads its header.
 * Errors: IO (cannot be read, or malformed), HOST_MEMORY; *file is then untouched. */
enum xseg_result xs_trace_open(struct xs_trace_file **file, const char *path);
/* The same from plain text in memory, which must live until xs_trace_close(). */
enum xseg_result xs_trace_open_memory(struct xs_trace_file **file, const char *name,
                                      const char *text, size_t bytes);
const struct xs_trace_header *xs_trace_file_header(const struct xs_trace_file *file);
/* The next event; at the end, kind XS_TRACE_END, and what was read agrees with the header. After an
 * error or the end, only xs_trace_close() may follow. */
enum xseg_result xs_trace_next(struct xs_trace_file *file, struct xs_trace_event *event);
void xs_trace_close(struct xs_trace_file *file);

/* ---- a whole trace in memory ----------------------------------------------------------------- */

struct xs_trace {
    struct xs_trace_header header;
    struct xs_trace_event *events; /* header.events of them */
    size_t n_slots;                /* slots are below this */
    struct xs_array memory;        /* of the events */
};

/* Reads all events of an open file. On an error *trace is untouched. The file stays open. */
enum xseg_result xs_trace_load(struct xs_trace *trace, struct xs_trace_file *file);
void xs_trace_unload(struct xs_trace *trace);

#endif
