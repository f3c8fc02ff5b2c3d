#include "bench/workload.h"

#include <math.h>
#include <string.h>

#include "bench/crew.h"

#define CONTROL_ROUNDS 5
#define FEW_ROUNDS     5

const struct xs_workload xs_workloads[] = {
    {"pair", "allocate and free one block, again and again, at six sizes", false, xs_workload_pair},
    {"churn", "2,000 live blocks of 64 sizes, replaced at random", false, xs_workload_churn},
    {"threads", "pairs on 1 to 16 threads, each with a stream of its own", false,
     xs_workload_threads},
    {"handoff", "one thread allocates, another frees", false, xs_workload_handoff},
    {"shared", "pairs on 4 threads that share one stream", false, xs_workload_shared},
    {"crossstream", "64 blocks used on a second, busy stream, under a limit of 4 GiB", true,
     xs_workload_crossstream},
    {"replay", "each TRACE: the second pass and later ones", false, xs_workload_replay},
    {"growbeside", "pairs on one thread while another grows by 4 GiB", true,
     xs_workload_growbeside},
    {"growth", "fresh memory by requests of 2 MiB, 64 MiB, 1 GiB", true, xs_workload_growth},
};
const size_t xs_n_workloads = XS_BENCH_LENGTH(xs_workloads);

struct xs_plan xs_workload_plan(bool is_quick, unsigned rounds)
{
    struct xs_plan usual = {.rounds = 11, .round_ns = 20000000, .samples = 100000};
    struct xs_plan quick = {.rounds = 3, .round_ns = 1000000, .samples = 2000};
    struct xs_plan plan = is_quick ? quick : usual;
    if (rounds != 0)
        plan.rounds = rounds;
    return plan;
}

bool xs_workload_is_listed(const char *list, const char *name)
{
    size_t len = strlen(name);
    const char *at = list;
    while (at != NULL && *at != '\0') {
        size_t n = strcspn(at, ",");
        if (n == len && strncmp(at, name, n) == 0)
            return true;
        at += n + (at[n] == ',');
    }
    return list == NULL;
}

unsigned xs_workload_few_rounds(const struct xs_bench *b)
{
    return b->plan.rounds < FEW_ROUNDS ? b->plan.rounds : FEW_ROUNDS;
}

/* ---- the control ----------------------------------------------------------------------------- */

static bool run_control(void *ctx, unsigned thread, uint64_t n)
{
    const struct xs_contestant *who = ctx;
    void *p;
    (void)thread;
    for (uint64_t i = 0; i < n; i++) {
        if (who->alloc(&p, 0, NULL) != 0)
            return false;
        who->free(p, 0, NULL);
    }
    return true;
}

/* Beside every row, so that a change of the clock rate in a long run is in both. */
static double control_ns(const struct xs_plan *plan, unsigned n_threads)
{
    union {
        const struct xs_contestant *who;
        void *ctx;
    } control = {.who = &xs_contestant_glibc};
    struct xs_job job = {.n_threads = n_threads, .ctx = control.ctx, .run = run_control};
    struct xs_plan short_plan = {.rounds = CONTROL_ROUNDS, .round_ns = plan->round_ns};
    struct xs_timing timing;
    return xs_rounds_time(&job, &short_plan, &timing) ? timing.ns_per_op : NAN;
}

double xs_workload_control_ratio(const struct xs_bench *b, unsigned n_threads)
{
    return n_threads * control_ns(&b->plan, 1) / control_ns(&b->plan, n_threads);
}

/* ---- rows ------------------------------------------------------------------------------------ */

static struct xs_row blank_row(const struct xs_bench *b, const char *bench)
{
    struct xs_row row = {.cores = xs_crew_cores(),
                         .ns_per_pair = NAN,
                         .p50_ns = NAN,
                         .p999_ns = NAN,
                         .control_ns = NAN};
    snprintf(row.bench, sizeof(row.bench), "%s", bench);
    snprintf(row.contestant, sizeof(row.contestant), "%s", b->who->name);
    snprintf(row.driver, sizeof(row.driver), "%s", b->gpu->is_simulator ? "sim" : "cuda");
    return row;
}

bool xs_workload_make_streams(const struct xs_bench *b, xseg_stream *streams, size_t n)
{
    if (!xs_gpu_make_streams(b->gpu, streams, n))
        return false;
    for (size_t i = 0; b->who->vouch != NULL && i < n; i++)
        b->who->vouch(streams[i], true);
    return true;
}

void xs_workload_end_streams(const struct xs_bench *b, const xseg_stream *streams, size_t n)
{
    for (size_t i = 0; b->who->vouch != NULL && i < n; i++)
        b->who->vouch(streams[i], false);
    xs_gpu_destroy_streams(b->gpu, streams, n);
}

struct xs_row xs_workload_row(const struct xs_bench *b, const char *bench, unsigned threads,
                              uint64_t size)
{
    struct xs_row row = blank_row(b, bench);
    row.threads = threads;
    row.size = size;
    row.control_ns = control_ns(&b->plan, 1);
    return row;
}

void xs_workload_take(struct xs_row *row, const struct xs_timing *timing)
{
    row->ns_per_pair = timing->ns_per_op;
    row->p50_ns = timing->p50_ns;
    row->p999_ns = timing->p999_ns;
}

bool xs_workload_run(const struct xs_workload *w, const struct xs_bench *b)
{
    xs_bench_failure_clear();
    bool ok = b->who->open(b->gpu, b->conf);
    if (ok) {
        ok = w->run(b);
        b->who->close();
    }
    if (!ok || xs_bench_failure()[0] != '\0') {
        struct xs_row row = blank_row(b, w->name);
        row.threads = 1;
        snprintf(row.error, sizeof(row.error), "%s", xs_bench_failure());
        b->emit(b->emit_ctx, &row);
        return false;
    }
    return true;
}
