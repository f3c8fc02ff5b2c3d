/*
 * A hit pair: allocate a block and free it, which a cache serves from what the last free left. On one
 * thread at several sizes; on several threads, each with its own stream or all with one.
 */
#include "bench/crew.h"
#include "bench/workload.h"

#define THREADS_BYTES  (64 * XS_BENCH_KIB)
#define SHARED_THREADS 4
#define THREADS_MAX    16

static const size_t sizes[] = {
    512, 64 * XS_BENCH_KIB, XS_BENCH_MIB, 2 * XS_BENCH_MIB, 20 * XS_BENCH_MIB, 256 * XS_BENCH_MIB};

struct pairs {
    const struct xs_bench *b;
    size_t bytes;
    xseg_stream streams[THREADS_MAX]; /* by thread */
};

static bool enter(void *ctx, unsigned thread)
{
    const struct pairs *p = ctx;
    (void)thread;
    return xs_gpu_enter(p->b->gpu);
}

static bool run(void *ctx, unsigned thread, uint64_t n)
{
    const struct pairs *p = ctx;
    const struct xs_contestant *who = p->b->who;
    xseg_stream stream = p->streams[thread];
    size_t bytes = p->bytes;
    for (uint64_t i = 0; i < n; i++) {
        void *block;
        int code = who->alloc(&block, bytes, stream);
        if (code != 0)
            return xs_contestant_failed(who, "alloc", bytes, code);
        XS_BENCH_KEEP(block);
        code = who->free(block, bytes, stream);
        if (code != 0)
            return xs_contestant_failed(who, "free", bytes, code);
    }
    return true;
}

static bool time_on(struct pairs *p, unsigned n_threads, struct xs_timing *timing)
{
    struct xs_job job = {.n_threads = n_threads, .ctx = p, .enter = enter, .run = run};
    return xs_rounds_time(&job, &p->b->plan, timing);
}

static double pairs_per_ns(unsigned n_threads, const struct xs_timing *timing)
{
    return n_threads / timing->ns_per_op;
}

static void emit(struct pairs *p, struct xs_row *row, const struct xs_timing *timing)
{
    xs_workload_take(row, timing);
    xs_row_extra(row, "mpairs_per_s", pairs_per_ns(row->threads, timing) * 1e3);
    p->b->emit(p->b->emit_ctx, row);
}

static bool time_pairs(struct pairs *p, const char *bench, unsigned n_threads)
{
    struct xs_timing timing;
    struct xs_row row = xs_workload_row(p->b, bench, n_threads, p->bytes);
    if (!time_on(p, n_threads, &timing))
        return false;
    emit(p, &row, &timing);
    return true;
}

/* One thread is timed before and after, since the clock rate may move. */
static bool time_threads(struct pairs *p, unsigned n_threads)
{
    struct xs_timing timing, before, after;
    struct xs_row row = xs_workload_row(p->b, "threads", n_threads, p->bytes);
    if (!time_on(p, 1, &before) || !time_on(p, n_threads, &timing) || !time_on(p, 1, &after))
        return false;
    double one = (pairs_per_ns(1, &before) + pairs_per_ns(1, &after)) / 2;
    xs_row_extra(&row, "rate_ratio", pairs_per_ns(n_threads, &timing) / one);
    xs_row_extra(&row, "control_ratio", xs_workload_control_ratio(p->b, n_threads));
    emit(p, &row, &timing);
    return true;
}

bool xs_workload_pair(const struct xs_bench *b)
{
    struct pairs p = {.b = b};
    size_t only = b->who->only_bytes;
    if (!xs_workload_make_streams(b, p.streams, 1))
        return false;
    bool ok = true;
    for (size_t i = 0; i < (only != 0 ? 1 : XS_BENCH_LENGTH(sizes)) && ok; i++) {
        p.bytes = only != 0 ? only : sizes[i];
        ok = time_pairs(&p, "pair", 1);
    }
    xs_workload_end_streams(b, p.streams, 1);
    return ok;
}

bool xs_workload_threads(const struct xs_bench *b)
{
    struct pairs p = {.b = b,
                      .bytes = b->who->only_bytes != 0 ? b->who->only_bytes : THREADS_BYTES};
    if (!xs_workload_make_streams(b, p.streams, THREADS_MAX))
        return false;
    bool ok = true;
    for (unsigned n = 1; n <= THREADS_MAX && ok; n *= 2)
        ok = time_threads(&p, n);
    xs_workload_end_streams(b, p.streams, THREADS_MAX);
    return ok;
}

bool xs_workload_shared(const struct xs_bench *b)
{
    struct pairs p = {.b = b,
                      .bytes = b->who->only_bytes != 0 ? b->who->only_bytes : THREADS_BYTES};
    if (!xs_workload_make_streams(b, p.streams, 1))
        return false;
    for (unsigned i = 1; i < SHARED_THREADS; i++)
        p.streams[i] = p.streams[0];
    bool ok = time_pairs(&p, "shared", SHARED_THREADS);
    xs_workload_end_streams(b, p.streams, 1);
    return ok;
}
