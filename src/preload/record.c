#include "preload/record.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "core/runtime.h"
#include "report/trace_file.h"
#include "vmm/stream.h"

_Atomic bool xs_record_on;

/* Guarded by lock. */
static struct {
    pthread_mutex_t lock;
    char path[PATH_MAX];
    pid_t owner; /* a forked child has the files too, but they are not its own */
    int file;    /* to be written at the end */
    int body;    /* without a name */
    char text[1 << 16];
    size_t length;
    uint64_t events;
    uint64_t live_bytes;
    uint64_t peak_bytes;
    xs_cu_stream stream[XS_TRACE_STREAMS_MAX]; /* number 0 is the legacy stream */
    unsigned streams;
    bool failed;
} record = {.lock = PTHREAD_MUTEX_INITIALIZER, .file = -1, .body = -1, .streams = 1};

/* ---- files ---------------------------------------------------------------------------------- */

static void give_up(const char *what)
{
    if (!record.failed)
        xs_log("the record %s: %s: %s", record.path, what, strerror(errno));
    record.failed = true;
    atomic_store(&xs_record_on, false);
}

static bool write_all(int file, const char *text, size_t n)
{
    while (n) {
        ssize_t done = write(file, text, n);
        if (done < 0 && errno != EINTR)
            return false;
        text += done > 0 ? done : 0;
        n -= done > 0 ? (size_t)done : 0;
    }
    return true;
}

static void flush(void)
{
    if (!record.failed && !write_all(record.body, record.text, record.length))
        give_up("cannot be written");
    record.length = 0;
}

/* The events go to a file without a name in the same folder, so nothing is left behind by a crash. */
static int open_body(void)
{
    char folder[PATH_MAX];
    snprintf(folder, sizeof(folder), "%s", record.path);
    char *slash = strrchr(folder, '/');
    if (slash)
        slash[slash == folder] = '\0';
    return open(slash ? folder : ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
}

void xs_record_begin(const char *path)
{
    pthread_mutex_lock(&record.lock);
    if (record.file < 0 && !record.failed) {
        snprintf(record.path, sizeof(record.path), "%s", path);
        record.owner = getpid();
        record.file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
        record.body = record.file < 0 ? -1 : open_body();
        if (record.body < 0)
            give_up("cannot be made");
        else
            atomic_store(&xs_record_on, true);
    }
    pthread_mutex_unlock(&record.lock);
}

static bool write_header(void)
{
    char header[256];
    int n = snprintf(header, sizeof(header),
                     "# xseg-trace 1\n# source recorded by xseg %s\n"
                     "# events %llu streams %u peak_requested %llu\n",
                     xseg_version(), (unsigned long long)record.events, record.streams,
                     (unsigned long long)record.peak_bytes);
    return write_all(record.file, header, (size_t)n);
}

static bool copy_body(void)
{
    char part[1 << 14];
    ssize_t n;
    if (lseek(record.body, 0, SEEK_SET) < 0)
        return false;
    while ((n = read(record.body, part, sizeof(part))) > 0)
        if (!write_all(record.file, part, (size_t)n))
            return false;
    return n == 0;
}

void xs_record_end(void)
{
    pthread_mutex_lock(&record.lock);
    atomic_store(&xs_record_on, false);
    if (record.body >= 0 && !record.failed && record.owner == getpid()) {
        flush();
        if (!record.failed && (!write_header() || !copy_body()))
            give_up("cannot be written");
        close(record.file);
        close(record.body);
        record.body = -1;
    }
    pthread_mutex_unlock(&record.lock);
}

/* ---- events --------------------------------------------------------------------------------- */

/* Streams get numbers in the order in which they come; a handle that comes back is the same one here. */
static unsigned stream_number(xs_cu_stream stream)
{
    if (!stream || stream == XS_CU_STREAM_LEGACY || stream == XS_STREAM_ANY)
        return 0;
    for (unsigned i = 1; i < record.streams; i++)
        if (record.stream[i] == stream)
            return i;
    if (record.streams == XS_TRACE_STREAMS_MAX)
        return record.streams - 1;
    record.stream[record.streams] = stream;
    return record.streams++;
}

/* Blocks are 512-byte aligned, so a live one's address makes its number. */
static unsigned long long id_of(xs_cu_ptr va)
{
    return va >> 9;
}

static void append(const char *text, int n)
{
    if (record.length + (size_t)n > sizeof(record.text))
        flush();
    memcpy(record.text + record.length, text, (size_t)n);
    record.length += (size_t)n;
    record.events++;
}

void xs_record_write_alloc(xs_cu_ptr va, size_t bytes, xs_cu_stream stream)
{
    char line[96];
    pthread_mutex_lock(&record.lock);
    if (record.body >= 0) {
        append(line, snprintf(line, sizeof(line), "a %llu %zu %u\n", id_of(va), bytes,
                              stream_number(stream)));
        record.live_bytes += bytes;
        record.peak_bytes = xs_max(record.peak_bytes, record.live_bytes);
    }
    pthread_mutex_unlock(&record.lock);
}

void xs_record_write_free(xs_cu_ptr va)
{
    char line[96];
    size_t bytes;
    pthread_mutex_lock(&record.lock);
    if (record.body >= 0 && !xseg_pointer_sizes((const void *)(uintptr_t)va, &bytes, NULL)) {
        append(line, snprintf(line, sizeof(line), "f %llu\n", id_of(va)));
        record.live_bytes -= bytes;
    }
    pthread_mutex_unlock(&record.lock);
}
