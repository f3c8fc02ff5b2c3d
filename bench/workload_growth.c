/*
 * Fresh memory: from an empty cache, blocks of one size are allocated until they make up the total, and
 * then all given back. ns_per_pair and p99.9 are of an allocation here, which is slow enough to be
 * timed one by one; ms_per_gib is the same per GiB.
 */
#include <stdlib.h>

#include "bench/bench_stats.h"
#include "bench/failure.h"
#include "bench/ticks.h"
#include "bench/workload.h"

#define TOTAL_BYTES       (4 * XS_BENCH_GIB)
#define TOTAL_BYTES_QUICK XS_BENCH_GIB

static const size_t sizes[] = {2 * XS_BENCH_MIB, 64 * XS_BENCH_MIB, XS_BENCH_GIB};

struct growth {
    const struct xs_bench *b;
    size_t bytes;
    size_t n_blocks;
    void **blocks;
    struct xs_histogram *samples;
    xseg_stream stream;
};

static bool free_all(const struct growth *g, size_t n)
{
    int code = 0;
    for (size_t i = 0; i < n && code == 0; i++)
        code = g->b->who->free(g->blocks[i], g->bytes, g->stream);
    if (code != 0)
        return xs_contestant_failed(g->b->who, "free", g->bytes, code);
    if (!xs_gpu_wait(g->b->gpu))
        return false;
    if (g->b->who->trim != NULL)
        g->b->who->trim();
    return true;
}

/* *ns is the whole time. */
static bool grow_once(const struct growth *g, double *ns)
{
    uint64_t begin_ns = xs_bench_now_ns();
    for (size_t i = 0; i < g->n_blocks; i++) {
        uint64_t begin = xs_ticks();
        int code = g->b->who->alloc(&g->blocks[i], g->bytes, g->stream);
        if (code != 0) {
            xs_contestant_failed(g->b->who, "alloc", g->bytes, code);
            free_all(g, i);
            return false;
        }
        xs_histogram_add(g->samples, xs_ticks() - begin);
    }
    *ns = (double)(xs_bench_now_ns() - begin_ns);
    return free_all(g, g->n_blocks);
}

/* The first time is a warm-up: contexts and pools set themselves up. */
static bool time_growth(const struct growth *g)
{
    double ns[XS_ROUNDS_MAX] = {0};
    unsigned n = xs_workload_few_rounds(g->b);
    double total = (double)(g->n_blocks * g->bytes);
    struct xs_row row = xs_workload_row(g->b, "growth", 1, g->bytes);
    if (!grow_once(g, &ns[0]))
        return false;
    *g->samples = (struct xs_histogram){0};
    for (unsigned i = 0; i < n; i++)
        if (!grow_once(g, &ns[i]))
            return false;
    double median = xs_bench_median(ns, n);
    row.ns_per_pair = median / (double)g->n_blocks;
    row.p50_ns = xs_histogram_percentile(g->samples, 0.5) * xs_ticks_ns();
    row.p999_ns = xs_histogram_percentile(g->samples, 0.999) * xs_ticks_ns();
    xs_row_extra(&row, "gib", total / (double)XS_BENCH_GIB);
    xs_row_extra(&row, "ms_per_gib", median / 1e6 * (double)XS_BENCH_GIB / total);
    g->b->emit(g->b->emit_ctx, &row);
    return true;
}

static bool run_sizes(struct growth *g, size_t total)
{
    bool ok = true;
    for (size_t i = 0; i < XS_BENCH_LENGTH(sizes) && ok; i++) {
        g->bytes = sizes[i];
        g->n_blocks = total / sizes[i];
        ok = time_growth(g);
    }
    return ok;
}

bool xs_workload_growth(const struct xs_bench *b)
{
    size_t total = b->is_quick ? TOTAL_BYTES_QUICK : TOTAL_BYTES;
    struct growth g = {.b = b};
    g.blocks = calloc(total / sizes[0], sizeof(*g.blocks));
    g.samples = calloc(1, sizeof(*g.samples));
    bool ok = g.blocks != NULL && g.samples != NULL;
    if (!ok)
        xs_bench_fail("no memory for %zu blocks", total / sizes[0]);
    ok = ok && xs_workload_make_streams(b, &g.stream, 1);
    if (ok) {
        ok = run_sizes(&g, total);
        xs_workload_end_streams(b, &g.stream, 1);
    }
    free(g.blocks);
    free(g.samples);
    return ok;
}
