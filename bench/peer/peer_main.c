/*
 * The main program of a peer, run by `xseg bench --peers`:
 *     PROGRAM [--quick] [--rounds N] [--only NAME[,NAME]...] [--trace FILE]...
 * A FILE is not trace text, but what xs_bench_trace_save() writes. Rows go to standard output.
 */
#include <getopt.h>
#include <stdlib.h>

#include "bench/peer/peer.h"
#include "bench/ticks.h"
#include "bench/workload.h"

#define TRACES_MAX 64

static struct xs_bench_trace traces[TRACES_MAX];
static bool has_failed;

static void emit(void *ctx, const struct xs_row *row)
{
    (void)ctx;
    has_failed |= row->error[0] != '\0';
    xs_row_write(row, stdout);
    fflush(stdout);
}

static int refuse(void)
{
    fprintf(stderr, "%s: %s\n", xs_peer_contestant.name, xs_bench_failure());
    return EXIT_FAILURE;
}

static bool parse(int argc, char **argv, struct xs_bench *b, const char **only)
{
    static const struct option options[] = {{"quick", no_argument, NULL, 'q'},
                                            {"rounds", required_argument, NULL, 'r'},
                                            {"only", required_argument, NULL, 'o'},
                                            {"trace", required_argument, NULL, 't'},
                                            {0}};
    unsigned rounds = 0;
    int c;
    while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
        if (c == 'q')
            b->is_quick = true;
        else if (c == 'r')
            rounds = (unsigned)atoi(optarg);
        else if (c == 'o')
            *only = optarg;
        else if (c != 't' || b->n_traces == TRACES_MAX)
            return xs_bench_fail("option not understood");
        else if (!xs_bench_trace_map(&traces[b->n_traces++], optarg))
            return false;
    }
    if (rounds > XS_ROUNDS_MAX)
        return xs_bench_fail("--rounds: at most %d", XS_ROUNDS_MAX);
    b->plan = xs_workload_plan(b->is_quick, rounds);
    return true;
}

int main(int argc, char **argv)
{
    static struct xs_gpu gpu;
    struct xs_bench b = {.gpu = &gpu, .who = &xs_peer_contestant, .traces = traces, .emit = emit};
    const char *only = NULL;
    if (!parse(argc, argv, &b, &only) || !xs_gpu_open(&gpu, "libcuda.so.1"))
        return refuse();
    xs_ticks_ns();
    for (size_t i = 0; i < xs_n_workloads; i++) {
        const struct xs_workload *w = &xs_workloads[i];
        bool has_work = w->run != xs_workload_replay || b.n_traces > 0;
        if (has_work && xs_workload_is_listed(only, w->name))
            xs_workload_run(w, &b);
    }
    return has_failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
