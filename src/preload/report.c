#include "preload/report.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fmt.h"
#include "core/runtime.h"
#include "preload/capture.h"
#include "preload/entry.h"
#include "preload/order.h"
#include "preload/record.h"

static struct {
    pthread_once_t once;
    pid_t owner;
    bool is_wanted;
    _Atomic bool is_measured;
    uint64_t native_pair_ns; /* 0: not known */
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

/* What the driver's own calls would have taken can only be measured where nothing is in their way: so what they would
 * have waited for the GPU is not in it. */
static void print_saved(FILE *out, const struct xseg_stats *s)
{
    double ours = (double)s->driver_wall_ns / 1e9;
    double pair = (double)report.native_pair_ns / 1e9;
    double native = (double)s->allocations.allocated * pair;
    fprintf(out, "xseg: device %d: %.3f s in the driver\n", s->device, ours);
    if (!report.native_pair_ns)
        return;
    fprintf(out,
            "xseg: device %d: cudaMalloc and cudaFree, %.1f us a pair when tried at the start of "
            "this run, would have taken %.3f s: %.3f s saved, waits for the GPU aside\n",
            s->device, pair * 1e6, native, native > ours ? native - ours : 0);
}

static void print_device(FILE *out, int device)
{
    struct xseg_stats s = {.size = sizeof(s)};
    char requested[XS_FMT_BYTES], reserved[XS_FMT_BYTES];
    if (xseg_get_stats(device, &s) || !s.allocations.allocated)
        return;
    double ratio =
        s.requested_bytes.peak ? (double)s.reserved_bytes.peak / (double)s.requested_bytes.peak : 0;
    fprintf(out, "xseg: device %d: %llu allocations; peak %s requested, %s reserved (%.4f)\n",
            device, (unsigned long long)s.allocations.allocated,
            xs_fmt_bytes(requested, s.requested_bytes.peak),
            xs_fmt_bytes(reserved, s.reserved_bytes.peak), ratio);
    print_saved(out, &s);
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

static void begin_once(void)
{
    const char *wanted = getenv("XSEG_REPORT");
    report.owner = getpid();
    report.is_wanted = wanted && strcmp(wanted, "1") == 0;
    atexit(at_exit);
    begin_record();
}

#define PAIRS      3 /* the first ones are slower */
#define PAIR_BYTES ((size_t)2 << 20)

/* What the driver takes for a request and its free, while there is no work yet that the free would wait for. Not while
 * a stream captures, which it would invalidate. */
static uint64_t native_pair_ns(void)
{
    uint64_t best = UINT64_MAX;
    xs_cu_ptr va;
    for (int i = 0; i < PAIRS && !xs_capture_is_open(); i++) {
        uint64_t begin = xs_clock_ns();
        if (xs_native_cuMemAlloc_v2(&va, PAIR_BYTES) || xs_native_cuMemFree_v2(va))
            return 0;
        best = xs_min(best, xs_clock_ns() - begin);
    }
    return best == UINT64_MAX ? 0 : best;
}

void xs_report_begin(void)
{
    pthread_once(&report.once, begin_once);
    if (report.is_wanted && !atomic_exchange(&report.is_measured, true))
        report.native_pair_ns = native_pair_ns();
}
