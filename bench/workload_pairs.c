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

/* Times pairs and emits their row. *base is the rate of one thread, in pairs a second; NULL: not asked. */
static bool time_pairs(struct pairs *p, const char *bench, unsigned n_threads, double *base)
{
    struct xs_job job = {.n_threads = n_threads, .ctx = p, .enter = enter, .run = run};
    struct xs_timing timing;
    struct xs_row row = xs_workload_row(p->b, bench, n_threads, p->bytes);
    if (!xs_rounds_time(&job, &p->b->plan, &timing))
        return false;
    double rate = n_threads * 1e9 / timing.ns_per_op;
    xs_workload_take(&row, &timing);
    xs_row_extra(&row, "mpairs_per_s", rate / 1e6);
    if (base != NULL) {
        *base = n_threads == 1 ? rate : *base;
        xs_row_extra(&row, "rate_ratio", rate / *base);
    }
    p->b->emit(p->b->emit_ctx, &row);
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
        ok = time_pairs(&p, "pair", 1, NULL);
    }
    xs_workload_end_streams(b, p.streams, 1);
    return ok;
}

bool xs_workload_threads(const struct xs_bench *b)
{
    struct pairs p = {.b = b,
                      .bytes = b->who->only_bytes != 0 ? b->who->only_bytes : THREADS_BYTES};
    double base = 0;
    if (!xs_workload_make_streams(b, p.streams, THREADS_MAX))
        return false;
    bool ok = true;
    for (unsigned n = 1; n <= THREADS_MAX && ok; n *= 2)
        ok = time_pairs(&p, "threads", n, &base);
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
    bool ok = time_pairs(&p, "shared", SHARED_THREADS, NULL);
    xs_workload_end_streams(b, p.streams, 1);
    return ok;
}
