/*
 * Hits beside growth: thread 0 allocates and frees one cached block without pause, and times every pair
 * by the processor's counter, while thread 1 takes 4 GiB of fresh memory from the driver. What is asked
 * is how long the slowest hits are held up, so only those count that began while thread 1 was at it.
 */
#include <stdlib.h>

#include "bench/bench_stats.h"
#include "bench/crew.h"
#include "bench/failure.h"
#include "bench/ticks.h"
#include "bench/workload.h"

#define HIT_BYTES   (64 * XS_BENCH_KIB)
#define GROW_BYTES  (4 * XS_BENCH_GIB)
#define WARM_UP     1000
#define SMALL_BYTES (64 * XS_BENCH_MIB)
#define BLOCKS_MAX  (GROW_BYTES / SMALL_BYTES)

static const size_t grow_sizes[] = {SMALL_BYTES, GROW_BYTES};

struct beside {
    const struct xs_bench *b;
    size_t grow_bytes; /* of one block */
    unsigned rounds;
    xseg_stream streams[2]; /* by thread */
    uint64_t clock_floor;
    struct xs_histogram *hits;
    double hits_ns; /* that they took together, the clock included */
    double grow_ns[XS_ROUNDS_MAX];
    void *blocks[BLOCKS_MAX];
    _Alignas(64) atomic_bool has_grown;
};

/* ---- thread 0 -------------------------------------------------------------------------------- */

static bool hit(const struct beside *s)
{
    const struct xs_contestant *who = s->b->who;
    void *block;
    int code = who->alloc(&block, HIT_BYTES, s->streams[0]);
    if (code != 0)
        return xs_contestant_failed(who, "alloc", HIT_BYTES, code);
    code = who->free(block, HIT_BYTES, s->streams[0]);
    return code == 0 || xs_contestant_failed(who, "free", HIT_BYTES, code);
}

static bool warm_up(const struct beside *s)
{
    bool ok = true;
    for (unsigned i = 0; i < WARM_UP && ok; i++)
        ok = hit(s);
    return ok;
}

static bool hit_until_grown(struct beside *s)
{
    bool ok = true;
    uint64_t begin_ns = xs_bench_now_ns();
    while (ok && !atomic_load_explicit(&s->has_grown, memory_order_relaxed)) {
        uint64_t begin = xs_ticks();
        ok = hit(s);
        uint64_t ticks = xs_ticks() - begin;
        xs_histogram_add(s->hits, ticks > s->clock_floor ? ticks - s->clock_floor : 0);
    }
    s->hits_ns += (double)(xs_bench_now_ns() - begin_ns);
    return ok;
}

/* ---- thread 1 -------------------------------------------------------------------------------- */

static bool grow(struct beside *s, double *ns)
{
    const struct xs_contestant *who = s->b->who;
    size_t n = GROW_BYTES / s->grow_bytes;
    size_t n_made = 0;
    int code = 0;
    uint64_t begin_ns = xs_bench_now_ns();
    while (n_made < n && code == 0) {
        code = who->alloc(&s->blocks[n_made], s->grow_bytes, s->streams[1]);
        n_made += code == 0;
    }
    *ns = (double)(xs_bench_now_ns() - begin_ns);
    atomic_store(&s->has_grown, true);
    if (code != 0)
        xs_contestant_failed(who, "alloc", s->grow_bytes, code);
    for (size_t i = 0; i < n_made; i++)
        who->free(s->blocks[i], s->grow_bytes, s->streams[1]);
    return code == 0;
}

/* ---- both ------------------------------------------------------------------------------------ */

static bool do_round(struct beside *s, unsigned thread, unsigned round)
{
    return thread == 0 ? hit_until_grown(s) : grow(s, &s->grow_ns[round]);
}

/* Thread 1 gives back what it took, and empties the cache, while thread 0 waits. */
static bool settle(struct beside *s)
{
    if (!xs_gpu_wait(s->b->gpu))
        return false;
    if (s->b->who->trim != NULL)
        s->b->who->trim();
    atomic_store(&s->has_grown, false);
    return true;
}

static void work(void *ctx, struct xs_crew *crew, unsigned thread)
{
    struct beside *s = ctx;
    if (!xs_gpu_enter(s->b->gpu))
        atomic_store(&crew->has_failed, true);
    for (unsigned i = 0; i < s->rounds; i++) {
        if (thread == 0 && !warm_up(s))
            atomic_store(&crew->has_failed, true);
        if (!xs_crew_meet(crew))
            return;
        if (!do_round(s, thread, i))
            atomic_store(&crew->has_failed, true);
        if (!xs_crew_meet(crew))
            return;
        if (thread == 1 && !settle(s))
            atomic_store(&crew->has_failed, true);
        if (!xs_crew_meet(crew))
            return;
    }
}

static bool time_beside(struct beside *s)
{
    struct xs_crew crew = {.n_threads = 2, .work = work, .ctx = s};
    struct xs_row row = xs_workload_row(s->b, "growbeside", 2, s->grow_bytes);
    *s->hits = (struct xs_histogram){0};
    s->hits_ns = 0;
    if (!xs_crew_run(&crew))
        return false;
    row.ns_per_pair = s->hits_ns / (double)s->hits->n;
    row.p50_ns = xs_histogram_percentile(s->hits, 0.5) * xs_ticks_ns();
    row.p999_ns = xs_histogram_percentile(s->hits, 0.999) * xs_ticks_ns();
    xs_row_extra(&row, "max_ns", (double)s->hits->max * xs_ticks_ns());
    xs_row_extra(&row, "hits", (double)s->hits->n);
    xs_row_extra(&row, "grow_ms", xs_bench_median(s->grow_ns, s->rounds) / 1e6);
    s->b->emit(s->b->emit_ctx, &row);
    return true;
}

bool xs_workload_growbeside(const struct xs_bench *b)
{
    struct beside *s = calloc(1, sizeof(*s));
    struct xs_histogram *hits = calloc(1, sizeof(*hits));
    bool ok = s != NULL && hits != NULL;
    if (!ok)
        xs_bench_fail("no memory for a histogram");
    ok = ok && xs_workload_make_streams(b, s->streams, 2);
    if (ok) {
        s->b = b;
        s->hits = hits;
        s->rounds = xs_workload_few_rounds(b);
        s->clock_floor = xs_rounds_clock_floor();
        for (size_t i = 0; i < XS_BENCH_LENGTH(grow_sizes) && ok; i++) {
            s->grow_bytes = grow_sizes[i];
            ok = time_beside(s);
        }
        xs_workload_end_streams(b, s->streams, 2);
    }
    free(hits);
    free(s);
    return ok;
}
