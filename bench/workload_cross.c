/*
 * Hand-over between streams, under a limit: 64 times, a block of 256 MiB is allocated on one stream, used
 * by a kernel of 5 ms on a second one, and freed; then the first stream is kept busy for 5 ms too. Four
 * GiB hold 16 of the blocks. Who counts on polling runs out of memory or piles blocks up; who waits
 * in every free is slow: stall_ms is the host's time in the allocator.
 *
 * A contestant that has no call to declare the use is helped by an event, on which the first stream
 * waits for the second. A limit can be set for some only; peak_gib shows what the others take. On the
 * simulator the kernels take no time.
 */
#include "bench/bench_stats.h"
#include "bench/failure.h"
#include "bench/ticks.h"
#include "bench/workload.h"

#define BLOCKS      64
#define BLOCK_BYTES (256 * XS_BENCH_MIB)
#define LIMIT_BYTES (4 * XS_BENCH_GIB)
#define KERNEL_NS   5000000u

struct cross {
    const struct xs_bench *b;
    xseg_stream streams[2]; /* home, and the second one */
    uint64_t used_at_start;
    uint64_t peak_bytes;
    uint64_t stall_ns;
    struct xs_histogram samples; /* of alloc, declaration and free together */
};

static bool declare_use(const struct cross *c, void *block)
{
    if (c->b->who->used_on != NULL)
        return c->b->who->used_on(block, c->streams[1]);
    return xs_gpu_order(c->b->gpu, c->streams[1], c->streams[0]);
}

static bool note_peak(struct cross *c)
{
    uint64_t used;
    if (!xs_gpu_used_bytes(c->b->gpu, &used))
        return false;
    uint64_t own = used > c->used_at_start ? used - c->used_at_start : 0;
    c->peak_bytes = own > c->peak_bytes ? own : c->peak_bytes;
    return true;
}

/* The kernel on the second stream begins after all that home has been given: the block is home's. */
static bool hand_over(struct cross *c)
{
    const struct xs_contestant *who = c->b->who;
    void *block;
    uint64_t begin = xs_bench_now_ns();
    int code = who->alloc(&block, BLOCK_BYTES, c->streams[0]);
    uint64_t alloc_ns = xs_bench_now_ns() - begin;
    if (code != 0)
        return xs_contestant_failed(who, "alloc", BLOCK_BYTES, code);
    if (!xs_gpu_order(c->b->gpu, c->streams[0], c->streams[1]) ||
        !xs_gpu_spin(c->b->gpu, block, KERNEL_NS, c->streams[1]) || !note_peak(c))
        return false;
    begin = xs_bench_now_ns();
    bool ok = declare_use(c, block);
    code = who->free(block, BLOCK_BYTES, c->streams[0]);
    uint64_t pair_ns = alloc_ns + (xs_bench_now_ns() - begin);
    if (code != 0)
        return xs_contestant_failed(who, "free", BLOCK_BYTES, code);
    c->stall_ns += pair_ns;
    xs_histogram_add(&c->samples, pair_ns);
    return ok;
}

/* Home is kept busy by work on a word of its own. */
static bool run_all(struct cross *c, void *word)
{
    bool ok = true;
    for (unsigned i = 0; i < BLOCKS && ok; i++)
        ok = hand_over(c) && xs_gpu_spin(c->b->gpu, word, KERNEL_NS, c->streams[0]);
    return xs_gpu_wait(c->b->gpu) && ok;
}

static bool emit(const struct cross *c, struct xs_row *row, uint64_t wall_ns)
{
    double gib = (double)XS_BENCH_GIB;
    row->ns_per_pair = (double)c->stall_ns / BLOCKS;
    row->p50_ns = xs_histogram_percentile(&c->samples, 0.5);
    row->p999_ns = xs_histogram_percentile(&c->samples, 0.999);
    xs_row_extra(row, "stall_ms", (double)c->stall_ns / 1e6);
    xs_row_extra(row, "wall_ms", (double)wall_ns / 1e6);
    xs_row_extra(row, "kernel_ms", c->b->gpu->spin != NULL ? KERNEL_NS / 1e6 : 0);
    xs_row_extra(row, "peak_gib", (double)c->peak_bytes / gib);
    if (c->b->who->limit != NULL)
        xs_row_extra(row, "limit_gib", (double)LIMIT_BYTES / gib);
    c->b->emit(c->b->emit_ctx, row);
    return true;
}

static bool run_limited(struct cross *c, void *word)
{
    struct xs_row row = xs_workload_row(c->b, "crossstream", 1, BLOCK_BYTES);
    if (c->b->who->limit != NULL && !c->b->who->limit(LIMIT_BYTES))
        return false;
    if (!xs_gpu_spin(c->b->gpu, word, 1, c->streams[0]) || !xs_gpu_wait(c->b->gpu) ||
        !xs_gpu_used_bytes(c->b->gpu, &c->used_at_start))
        return false;
    uint64_t begin = xs_bench_now_ns();
    return run_all(c, word) && emit(c, &row, xs_bench_now_ns() - begin);
}

bool xs_workload_crossstream(const struct xs_bench *b)
{
    struct cross c = {.b = b};
    void *word;
    if (b->gpu->mem_alloc(&word, sizeof(uint32_t)) != 0)
        return xs_bench_fail("no device memory for one word");
    bool ok = xs_workload_make_streams(b, c.streams, 2);
    if (ok) {
        ok = run_limited(&c, word);
        xs_workload_end_streams(b, c.streams, 2);
    }
    b->gpu->mem_free(word);
    return ok;
}
