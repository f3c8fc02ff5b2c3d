/*
 * Churn: 2,000 live blocks of 64 sizes, spread evenly over the powers of two from 512 B to 64 MiB; a
 * random one is freed and another of a random size takes its place. The choices are made before the
 * clock runs, by the generator that any program can repeat (seed 1).
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/failure.h"
#include "bench/random.h"
#include "bench/ticks.h"
#include "bench/workload.h"

#define LIVE      2000
#define SIZES     64
#define STEPS     (1u << 18)  /* then from the beginning */
#define SETTLING  50          /* times that each block is replaced before anything is timed, */
#define SETTLE_NS 2000000000u /* unless that takes longer: memory grows and moves for a while */
#define SEED      1
#define LOG2_MIN  9.0  /* 512 B */
#define LOG2_SPAN 17.0 /* up to 64 MiB */

struct step {
    uint16_t slot;
    uint16_t size; /* its number */
};

struct churn {
    const struct xs_bench *b;
    xseg_stream stream;
    size_t sizes[SIZES];
    void *blocks[LIVE];
    size_t bytes[LIVE]; /* of each block; 0: not live */
    struct step *steps;
    uint64_t at;
};

static void make_steps(struct churn *c)
{
    struct xs_random random;
    xs_random_seed(&random, SEED);
    for (size_t i = 0; i < SIZES; i++) {
        double exponent = LOG2_MIN + LOG2_SPAN * (xs_random_next(&random) % 1000) / 1000;
        c->sizes[i] = (size_t)exp2(exponent);
    }
    for (size_t i = 0; i < STEPS; i++) {
        c->steps[i].slot = (uint16_t)(xs_random_next(&random) % LIVE);
        c->steps[i].size = (uint16_t)(xs_random_next(&random) % SIZES);
    }
}

static bool replace(struct churn *c, const struct xs_contestant *who, size_t slot, size_t bytes)
{
    int code = 0;
    if (c->bytes[slot] != 0)
        code = who->free(c->blocks[slot], c->bytes[slot], c->stream);
    if (code != 0)
        return xs_contestant_failed(who, "free", c->bytes[slot], code);
    c->bytes[slot] = 0;
    code = who->alloc(&c->blocks[slot], bytes, c->stream);
    if (code != 0)
        return xs_contestant_failed(who, "alloc", bytes, code);
    c->bytes[slot] = bytes;
    return true;
}

static bool run(void *ctx, unsigned thread, uint64_t n)
{
    struct churn *c = ctx;
    const struct xs_contestant *who = c->b->who;
    (void)thread;
    for (uint64_t i = 0; i < n; i++) {
        const struct step *step = &c->steps[c->at++ % STEPS];
        if (!replace(c, who, step->slot, c->sizes[step->size]))
            return false;
    }
    return true;
}

static bool enter(void *ctx, unsigned thread)
{
    struct churn *c = ctx;
    for (size_t i = 0; i < LIVE; i++)
        if (!replace(c, c->b->who, i, c->sizes[c->steps[i].size]))
            return false;
    uint64_t begin_ns = xs_bench_now_ns();
    unsigned turns = c->b->is_quick ? 1 : SETTLING;
    for (unsigned i = 0; i < turns && xs_bench_now_ns() - begin_ns < SETTLE_NS; i++)
        if (!run(c, thread, LIVE))
            return false;
    return true;
}

static void leave(void *ctx, unsigned thread)
{
    struct churn *c = ctx;
    (void)thread;
    for (size_t i = 0; i < LIVE; i++)
        if (c->bytes[i] != 0)
            c->b->who->free(c->blocks[i], c->bytes[i], c->stream);
}

static bool time_churn(struct churn *c)
{
    struct xs_job job = {.n_threads = 1, .ctx = c, .enter = enter, .leave = leave, .run = run};
    struct xs_timing timing;
    struct xs_row row = xs_workload_row(c->b, "churn", 1, 0);
    if (!xs_rounds_time(&job, &c->b->plan, &timing))
        return false;
    xs_workload_take(&row, &timing);
    xs_row_extra(&row, "live_blocks", LIVE);
    c->b->emit(c->b->emit_ctx, &row);
    return true;
}

bool xs_workload_churn(const struct xs_bench *b)
{
    struct churn *c = calloc(1, sizeof(*c));
    struct step *steps = calloc(STEPS, sizeof(*steps));
    bool ok = c != NULL && steps != NULL;
    if (!ok)
        xs_bench_fail("no memory for %u steps", STEPS);
    if (ok) {
        c->b = b;
        c->steps = steps;
        make_steps(c);
        ok = xs_workload_make_streams(b, &c->stream, 1);
    }
    if (ok) {
        ok = time_churn(c);
        xs_workload_end_streams(b, &c->stream, 1);
    }
    free(steps);
    free(c);
    return ok;
}
