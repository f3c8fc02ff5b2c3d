/*
 * One replay:
 *
 *   fresh allocator → streams → (driver's used bytes: the baseline) → pass 1 .. N → wait for the
 *   GPU → reserved and used bytes → empty_cache → anything left? → shutdown → streams destroyed
 *
 * The library is timed in chunks of events. Within a chunk nothing runs but its calls and a read of
 * the event; the time that it spent in the driver it says itself, and that is taken off.
 */
#include "cli/replay.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "cli/progress.h"
#include "cli/verify.h"

#define CHUNK               4096
#define STREAM_NON_BLOCKING 1u
#define DEVICE              0

/* What lives as long as one trace is replayed. */
struct run {
    const struct xs_cuda *cuda;
    const struct xs_replay_options *options;
    const struct xs_trace *trace;
    struct xs_replay *out;
    struct xs_verify *verify; /* NULL: not verifying */
    xseg_stream *streams;     /* by number; 0 is the legacy one */
    void **pointers;          /* by slot; NULL: not live, or of size 0 */
    struct xs_progress progress;
    uint64_t used_at_start;
    unsigned pass;
    xseg_stream *queued; /* streams of the latest uses, a ring; NULL: the GPU keeps up */
    uint64_t n_queued;   /* so far */
};

static enum xseg_result with_library_text(enum xseg_result result, const char *call)
{
    return result == XSEG_OK ? result : xs_fail(result, "%s: %s", call, xseg_last_error());
}

static enum xseg_result read_stats(struct xseg_stats *stats)
{
    *stats = (struct xseg_stats){.size = sizeof(*stats)};
    return with_library_text(xseg_get_stats(DEVICE, stats), "xseg_get_stats");
}

uint64_t xs_replay_calls_total(const struct xs_replay_calls *calls)
{
    return calls->create + calls->map + calls->set_access + calls->unmap + calls->release;
}

/* ---- set-up ---------------------------------------------------------------------------------- */

enum xseg_result xs_replay_prepare(const struct xs_cuda *cuda, const char *conf)
{
    enum xseg_result result =
        with_library_text(xseg_use_driver_library(cuda->path), "xseg_use_driver_library");
    if (result == XSEG_OK && conf != NULL)
        result = xseg_configure(conf) == XSEG_OK
                     ? XSEG_OK
                     : xs_fail(XSEG_ERROR_CONFIG, "--conf: %s", xseg_last_error());
    return result;
}

/* In a first use the library looks at the device; that is to be in no pass's time. */
static enum xseg_result set_limit(const struct run *r)
{
    const struct xs_replay_limit *limit = &r->options->limit;
    double times = limit->times * (double)r->trace->header.peak_requested;
    size_t bytes = limit->bytes != 0 ? limit->bytes : (size_t)times;
    enum xseg_result result =
        with_library_text(xseg_memory_info(DEVICE, NULL, NULL), "xseg_memory_info");
    if (result == XSEG_OK && (limit->bytes != 0 || limit->times > 0))
        result = with_library_text(xseg_set_limit(DEVICE, bytes), "xseg_set_limit");
    if (result == XSEG_OK)
        result = with_library_text(xseg_get_limit(DEVICE, &bytes), "xseg_get_limit");
    r->out->limit_bytes = bytes;
    return result;
}

static enum xseg_result make_streams(struct run *r)
{
    size_t n = xs_max(r->trace->header.streams, 1);
    r->streams = calloc(n, sizeof(*r->streams));
    if (r->streams == NULL)
        return xs_fail(XSEG_ERROR_HOST_MEMORY, "no memory for %zu streams", n);
    for (size_t i = 1; i < n; i++) {
        int code = r->cuda->stream_create(&r->streams[i], STREAM_NON_BLOCKING);
        if (code != 0)
            return xs_cuda_check("cuStreamCreate", code);
        /* As the frameworks do that the traces come from: they own their streams. */
        enum xseg_result result = xseg_stream_register(DEVICE, r->streams[i]);
        if (result != XSEG_OK)
            return with_library_text(result, "xseg_stream_register");
    }
    return XSEG_OK;
}

static void destroy_streams(struct run *r)
{
    for (size_t i = 1; r->streams != NULL && i < r->trace->header.streams; i++)
        if (r->streams[i] != NULL) {
            xseg_stream_unregister(DEVICE, r->streams[i]);
            r->cuda->stream_destroy(r->streams[i]);
        }
    free(r->streams);
}

static enum xseg_result wait_for_streams(const struct run *r)
{
    int code = r->cuda->stream_wait(NULL);
    for (size_t i = 1; i < r->trace->header.streams && code == 0; i++)
        code = r->cuda->stream_wait(r->streams[i]);
    return xs_cuda_check("cuStreamSynchronize", code);
}

static enum xseg_result make_arrays(struct run *r)
{
    size_t bytes = (r->trace->n_slots + 1) * sizeof(*r->pointers);
    r->pointers = malloc(bytes);
    r->out->passes = calloc(r->options->passes, sizeof(*r->out->passes));
    if (r->pointers == NULL || r->out->passes == NULL)
        return xs_fail(XSEG_ERROR_HOST_MEMORY, "no memory for %zu pointers", r->trace->n_slots);
    memset(r->pointers, 0, bytes); /* by hand: the pages are to be there before the time is taken */
    return XSEG_OK;
}

/* Streams and kernels take memory of the device at their first use; that is not to be counted. */
static enum xseg_result open_verify(struct run *r)
{
    enum xseg_result result = xs_verify_open(&r->verify, r->cuda, r->trace->n_slots);
    if (result != XSEG_OK)
        return result;
    xs_verify_warm(r->verify, NULL);
    for (size_t i = 1; i < r->trace->header.streams; i++)
        xs_verify_warm(r->verify, r->streams[i]);
    return wait_for_streams(r);
}

/* Who asks for an event again and again waits for it. */
#define ASKED_OFTEN 20

/* The simulator's streams run nothing by themselves from now on. */
static enum xseg_result hold_back(struct run *r)
{
    r->queued = calloc(r->options->behind, sizeof(xseg_stream));
    if (r->queued == NULL)
        return xs_fail(XSEG_ERROR_HOST_MEMORY, "no memory for %zu uses", r->options->behind);
    r->cuda->sim_reach_after(ASKED_OFTEN);
    for (size_t i = 0; i < xs_max(r->trace->header.streams, 1); i++) {
        int code = r->cuda->sim_manual(r->streams[i], true);
        if (code != 0)
            return xs_cuda_check("xs_sim_stream_manual", code);
    }
    return XSEG_OK;
}

static enum xseg_result set_up(struct run *r)
{
    enum xseg_result result = xs_replay_prepare(r->cuda, r->options->conf);
    if (result == XSEG_OK)
        result = make_arrays(r);
    if (result == XSEG_OK)
        result = make_streams(r);
    if (result == XSEG_OK && r->options->verify)
        result = open_verify(r);
    if (result == XSEG_OK && r->options->behind != 0)
        result = hold_back(r);
    if (result == XSEG_OK)
        result = set_limit(r);
    return result == XSEG_OK ? xs_cuda_used_bytes(r->cuda, &r->used_at_start) : result;
}

/* ---- events ---------------------------------------------------------------------------------- */

/* Plays events from *at up to `end`; on an error *at is the one that failed. */
static enum xseg_result play(const struct run *r, uint64_t *at, uint64_t end)
{
    const struct xs_trace_event *events = r->trace->events;
    void **pointers = r->pointers;
    enum xseg_result result = XSEG_OK;
    uint64_t i = *at;
    for (; i < end; i++) {
        const struct xs_trace_event *e = &events[i];
        if (e->kind == XS_TRACE_ALLOC) {
            result = xseg_malloc(&pointers[e->slot], e->size, DEVICE, r->streams[e->stream]);
        } else {
            result = xseg_free(pointers[e->slot]);
            pointers[e->slot] = NULL;
        }
        if (xs_unlikely(result != XSEG_OK))
            break;
    }
    *at = i;
    return result;
}

/* The same, with every block filled and checked. */
static enum xseg_result play_verified(const struct run *r, uint64_t *at, uint64_t end)
{
    for (; *at < end; ++*at) {
        const struct xs_trace_event *e = &r->trace->events[*at];
        void **pointer = &r->pointers[e->slot];
        if (e->kind == XS_TRACE_FREE && *pointer != NULL)
            xs_verify_check(r->verify, e->slot, *pointer);
        uint64_t one = *at;
        enum xseg_result result = play(r, &one, one + 1);
        if (result != XSEG_OK)
            return result;
        if (e->kind == XS_TRACE_ALLOC && *pointer != NULL)
            xs_verify_fill(r->verify, e->slot, *pointer, e->size, r->streams[e->stream],
                           (uint64_t)r->pass << 40 | *at);
    }
    return XSEG_OK;
}

/* A kernel that uses the block; the GPU gets time to run what is too far behind, in the order of the launches. */
static enum xseg_result use(struct run *r, void *pointer, const struct xs_trace_event *e)
{
    const struct xs_cuda *cuda = r->cuda;
    size_t behind = r->options->behind;
    xseg_stream stream = r->streams[e->stream];
    int code = cuda->sim_launch(stream, (uintptr_t)pointer, 1);
    r->queued[r->n_queued++ % behind] = stream;
    for (size_t i = 0; i < behind && cuda->sim_queued() > behind; i++)
        cuda->sim_advance(r->queued[(r->n_queued + i) % behind], 1);
    return xs_cuda_check("xs_sim_launch", code);
}

/* An event between two uses of its block: the last one before a free, the first one after an allocation. */
static enum xseg_result play_used(struct run *r, uint64_t at)
{
    const struct xs_trace_event *e = &r->trace->events[at];
    void **pointer = &r->pointers[e->slot];
    enum xseg_result result = XSEG_OK;
    if (e->kind == XS_TRACE_FREE && *pointer != NULL)
        result = use(r, *pointer, e);
    if (result == XSEG_OK)
        result = play(r, &at, at + 1);
    if (result == XSEG_OK && e->kind == XS_TRACE_ALLOC && *pointer != NULL)
        result = use(r, *pointer, e);
    return result;
}

static enum xseg_result play_behind(struct run *r, uint64_t *at, uint64_t end)
{
    for (; *at < end; ++*at) {
        enum xseg_result result = play_used(r, *at);
        if (result != XSEG_OK)
            return result;
    }
    return XSEG_OK;
}

/* *at is the event that failed. Out of memory is noted and passes as success. */
static enum xseg_result note_failure(const struct run *r, uint64_t at, enum xseg_result result)
{
    const struct xs_trace_event *e = &r->trace->events[at];
    if (result == XSEG_ERROR_OUT_OF_MEMORY) {
        r->out->oom_event = at + 1;
        return XSEG_OK;
    }
    return xs_fail(result, "event %llu (%s of %llu bytes): %s: %s", (unsigned long long)at + 1,
                   e->kind == XS_TRACE_ALLOC ? "allocation" : "free", (unsigned long long)e->size,
                   xseg_result_name(result), xseg_last_error());
}

/* All events, timed. */
static enum xseg_result play_all(struct run *r, uint64_t *played, uint64_t *wall_ns)
{
    uint64_t n = r->trace->header.events;
    uint64_t at = 0;
    enum xseg_result result = XSEG_OK;
    *wall_ns = 0;
    while (at < n && result == XSEG_OK) {
        uint64_t end = n - at < CHUNK ? n : at + CHUNK;
        uint64_t begin_ns = xs_clock_ns();
        result = r->verify != NULL   ? play_verified(r, &at, end)
                 : r->queued != NULL ? play_behind(r, &at, end)
                                     : play(r, &at, end);
        *wall_ns += xs_clock_ns() - begin_ns;
        xs_progress_update(&r->progress, (uint64_t)r->pass * n + at);
    }
    *played = at;
    return result == XSEG_OK ? XSEG_OK : note_failure(r, at, result);
}

static enum xseg_result free_what_is_live(struct run *r)
{
    for (size_t slot = 0; slot < r->trace->n_slots; slot++) {
        if (r->pointers[slot] == NULL)
            continue;
        if (r->verify != NULL)
            xs_verify_check(r->verify, (uint32_t)slot, r->pointers[slot]);
        enum xseg_result result = xseg_free(r->pointers[slot]);
        if (result != XSEG_OK)
            return with_library_text(result, "xseg_free");
        r->pointers[slot] = NULL;
    }
    return XSEG_OK;
}

/* ---- passes ---------------------------------------------------------------------------------- */

/* What happened between two readings. */
static void fill_pass(const struct run *r, struct xs_replay_pass *pass, uint64_t wall_ns,
                      const struct xseg_stats *before, const struct xseg_stats *after)
{
    double driver_wall_ns = (double)(after->driver_wall_ns - before->driver_wall_ns);
    double events = pass->events > 0 ? (double)pass->events : 1;
    pass->ns_per_event =
        r->verify != NULL || r->queued != NULL ? NAN : ((double)wall_ns - driver_wall_ns) / events;
    pass->driver_ms = (double)(after->driver_ns - before->driver_ns) / 1e6;
    pass->calls = (struct xs_replay_calls){
        .create = after->driver_create - before->driver_create,
        .map = after->driver_map - before->driver_map,
        .set_access = after->driver_set_access - before->driver_set_access,
        .unmap = after->driver_unmap - before->driver_unmap,
        .release = after->driver_release - before->driver_release,
    };
    pass->waits = after->rung_wait - before->rung_wait;
    pass->peak_allocated = after->allocated_bytes.peak;
    pass->peak_reserved = after->reserved_bytes.peak;
}

static enum xseg_result run_pass(struct run *r)
{
    struct xseg_stats before;
    struct xseg_stats after;
    uint64_t wall_ns = 0;
    struct xs_replay_pass *pass = &r->out->passes[r->out->n_passes++];
    enum xseg_result result = with_library_text(xseg_reset_peaks(DEVICE), "xseg_reset_peaks");
    if (result == XSEG_OK)
        result = read_stats(&before);
    if (result == XSEG_OK)
        result = play_all(r, &pass->events, &wall_ns);
    if (result == XSEG_OK)
        result = read_stats(&after);
    if (result != XSEG_OK)
        return result;
    fill_pass(r, pass, wall_ns, &before, &after);
    result = free_what_is_live(r);
    if (result == XSEG_OK)
        result = wait_for_streams(r);
    if (result == XSEG_OK && r->verify != NULL)
        result = xs_verify_finish(r->verify, &r->out->mismatches);
    return result;
}

static enum xseg_result run_passes(struct run *r)
{
    enum xseg_result result = XSEG_OK;
    uint64_t total = r->options->passes * r->trace->header.events;
    xs_progress_begin(&r->progress, r->progress.label, total);
    for (r->pass = 0; r->pass < r->options->passes && result == XSEG_OK; r->pass++) {
        result = run_pass(r);
        if (r->out->oom_event != 0)
            break;
    }
    xs_progress_end(&r->progress);
    return result;
}

/* Does the driver say the same as the library, and is everything given back? */
static enum xseg_result settle(struct run *r)
{
    struct xseg_stats stats;
    uint64_t used_bytes = 0;
    enum xseg_result result = read_stats(&stats);
    if (result == XSEG_OK)
        result = xs_cuda_used_bytes(r->cuda, &used_bytes);
    if (result != XSEG_OK)
        return result;
    r->out->reserved_end = stats.reserved_bytes.current;
    r->out->driver_used_end = used_bytes > r->used_at_start ? used_bytes - r->used_at_start : 0;
    result = with_library_text(xseg_empty_cache(DEVICE), "xseg_empty_cache");
    if (result == XSEG_OK)
        result = read_stats(&stats);
    if (result == XSEG_OK)
        r->out->leaked_bytes = stats.reserved_bytes.current;
    return result;
}

enum xseg_result xs_replay_run(struct xs_replay *replay, const struct xs_cuda *cuda,
                               const struct xs_replay_options *options,
                               const struct xs_trace *trace, const char *label)
{
    *replay = (struct xs_replay){0};
    struct run r = {.cuda = cuda, .options = options, .trace = trace, .out = replay};
    snprintf(r.progress.label, sizeof(r.progress.label), "%s", label);
    enum xseg_result result = set_up(&r);
    if (result == XSEG_OK)
        result = run_passes(&r);
    if (result == XSEG_OK)
        result = settle(&r);
    if (r.verify != NULL)
        xs_verify_close(r.verify);
    char why[XS_ERROR_TEXT_BYTES];
    snprintf(why, sizeof(why), "%s", xs_error_text());
    destroy_streams(&r);
    enum xseg_result shut = xseg_shutdown();
    free(r.pointers);
    free(r.queued);
    if (result != XSEG_OK)
        xs_fail(result, "%s", why); /* the shutdown may have overwritten it */
    else
        result = with_library_text(shut, "xseg_shutdown");
    if (result != XSEG_OK)
        xs_replay_clear(replay);
    return result;
}

void xs_replay_clear(struct xs_replay *replay)
{
    free(replay->passes);
    *replay = (struct xs_replay){0};
}
