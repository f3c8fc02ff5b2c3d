#include "preload/report.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fmt.h"
#include "core/runtime.h"
#include "preload/order.h"
#include "preload/record.h"

/* cudaMalloc and cudaFree of an idle H200, together: docs/design.md. */
#define NATIVE_PAIR_NS 98000.0

static struct {
    pthread_once_t once;
    pid_t owner;
    bool is_wanted;
    _Atomic bool exiting;
    _Atomic uint64_t native_calls;
    _Atomic uint64_t native_bytes;
    _Atomic uint64_t given_back;
} report = {.once = PTHREAD_ONCE_INIT};

void xs_report_note_native(size_t bytes)
{
    atomic_fetch_add_explicit(&report.native_calls, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&report.native_bytes, bytes, memory_order_relaxed);
}

void xs_report_note_given_back(void)
{
    atomic_fetch_add_explicit(&report.given_back, 1, memory_order_relaxed);
}

bool xs_report_is_exiting(void)
{
    return atomic_load_explicit(&report.exiting, memory_order_relaxed);
}

/* ---- the text ------------------------------------------------------------------------------- */

static void print_device(FILE *out, int device)
{
    struct xseg_stats s = {.size = sizeof(s)};
    char requested[XS_FMT_BYTES], reserved[XS_FMT_BYTES];
    if (xseg_get_stats(device, &s) || !s.allocations.allocated)
        return;
    double ratio =
        s.requested_bytes.peak ? (double)s.reserved_bytes.peak / (double)s.requested_bytes.peak : 0;
    double native_s = (double)s.allocations.allocated * NATIVE_PAIR_NS / 1e9;
    fprintf(out, "xseg: device %d: %llu allocations; peak %s requested, %s reserved (%.4f)\n",
            device, (unsigned long long)s.allocations.allocated,
            xs_fmt_bytes(requested, s.requested_bytes.peak),
            xs_fmt_bytes(reserved, s.reserved_bytes.peak), ratio);
    fprintf(out,
            "xseg: device %d: %.3f s in the driver; cudaMalloc and cudaFree would have taken "
            "about %.3f s (at 98 us a pair) and waited for the GPU\n",
            device, (double)s.driver_wall_ns / 1e9, native_s);
}

static void print_rest(FILE *out)
{
    char bytes[XS_FMT_BYTES];
    uint64_t calls = atomic_load(&report.native_calls);
    uint64_t given_back = atomic_load(&report.given_back);
    if (calls)
        fprintf(out, "xseg: not covered: %llu requests, %s, left to the driver\n",
                (unsigned long long)calls, xs_fmt_bytes(bytes, atomic_load(&report.native_bytes)));
    if (xs_order_cause())
        fprintf(out, "xseg: freed memory waited for all streams from here on: %s\n",
                xs_order_cause());
    if (given_back)
        fprintf(out, "xseg: the cache was given back %llu times for other requests\n",
                (unsigned long long)given_back);
}

/* One write, so that the reports of several processes do not mix. */
static void print_report(void)
{
    char text[8192];
    FILE *out = fmemopen(text, sizeof(text), "w");
    if (!out)
        return;
    for (int i = 0; i < XS_DEVICE_LIMIT; i++)
        if (xs_runtime_open_device(i))
            print_device(out, i);
    print_rest(out);
    long n = ftell(out);
    fclose(out);
    if (n > 0 && write(STDERR_FILENO, text, (size_t)n) < 0)
        return;
}

/* ---- once ----------------------------------------------------------------------------------- */

static void at_exit(void)
{
    atomic_store(&report.exiting, true);
    if (report.owner != getpid())
        return;
    xs_record_end();
    if (report.is_wanted)
        print_report();
}

/* The process that `xseg run` has become writes the file itself; those that it starts add their number. */
static void begin_record(void)
{
    const char *path = getenv("XSEG_RECORD"), *first = getenv("XSEG_RUN_PID");
    char name[4096];
    if (!path || !*path)
        return;
    bool is_first = !first || atoi(first) == (int)getpid();
    int n = is_first ? snprintf(name, sizeof(name), "%s", path)
                     : snprintf(name, sizeof(name), "%s.%d", path, (int)getpid());
    if (n > 0 && (size_t)n < sizeof(name))
        xs_record_begin(name);
}

static void begin(void)
{
    const char *wanted = getenv("XSEG_REPORT");
    report.owner = getpid();
    report.is_wanted = wanted && strcmp(wanted, "1") == 0;
    atexit(at_exit);
    begin_record();
}

void xs_report_begin(void)
{
    pthread_once(&report.once, begin);
}
