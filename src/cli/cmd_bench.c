/*
 * xseg bench: every workload by every contestant in this process, one after the other, then by the
 * outside programs. What could not be measured is a row with an error, and does not stop the rest.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/fmt.h"
#include "bench/crew.h"
#include "bench/ticks.h"
#include "cli/args.h"
#include "cli/bench_peers.h"
#include "cli/bench_table.h"
#include "cli/bench_traces.h"
#include "cli/commands.h"
#include "cli/cuda.h"
#include "cli/log_once.h"
#include "cli/progress.h"
#include "cli/replay.h"

#define COMMAND "xseg bench"

enum option { DRIVER, ONLY, CONTESTANTS, PEERS, ROUNDS, QUICK, CONF, JSON, COLOR, HELP, N_OPTIONS };

static const struct xs_option option_table[N_OPTIONS] = {
    [DRIVER] = {"driver", "auto|sim|cuda", "auto: the GPU if there is one, else the simulator",
                NULL},
    [ONLY] = {"only", "NAME,...", "only these workloads", NULL},
    [CONTESTANTS] = {"contestants", "NAME,...", "only these contestants", NULL},
    [PEERS] = {"peers", "FOLDER", "outside programs, as bench/peer/build.sh makes them", NULL},
    [ROUNDS] = {"rounds", "N", "the median is of N rounds; 11 by default", NULL},
    [QUICK] = {"quick", NULL, "short rounds, little memory: does it work? Not to be quoted", NULL},
    [CONF] = {"conf", "STRING", "policy of xseg, as in ALLOC_CONF, over the environment's", NULL},
    [JSON] = {"json", NULL, "one object a line for each result", NULL},
    [COLOR] = {"color", "auto|always|never", "auto: on a terminal, unless NO_COLOR is set", NULL},
    [HELP] = {"help", NULL, "this text", NULL},
};

static const struct xs_contestant *const contestants[] = {
    &xs_contestant_xseg, &xs_contestant_xseg_by_id, &xs_contestant_async, &xs_contestant_mem_alloc,
    &xs_contestant_glibc};

struct settings {
    enum xs_cuda_choice driver;
    const char *only;
    const char *contestants;
    unsigned rounds; /* 0: the default */
    bool is_quick;
    bool json;
    const char *conf;
    enum xs_color color;
    struct xs_bench_peers peers;
    struct xs_bench_trace *traces;
    size_t n_traces;
};

/* A run, as emit() sees it. */
struct output {
    const struct settings *settings;
    struct xs_bench_rows rows;
    bool has_errors;
};

static void print_help(const struct xs_args *args)
{
    puts("usage: xseg bench [OPTION]... [TRACE]...\n\n"
         "Measures the speed of xseg beside other allocators, and beside a control: malloc and\n"
         "free of 64 bytes by the C library, so that a ratio can be quoted on any machine.\n");
    xs_args_print_options(args, stdout);
    puts("\nworkloads:");
    for (size_t i = 0; i < xs_n_workloads; i++)
        printf("  %-11s  %s\n", xs_workloads[i].name, xs_workloads[i].help);
    printf("\ncontestants:");
    for (size_t i = 0; i < XS_COUNT_OF(contestants); i++)
        printf(" %s", contestants[i]->name);
    puts(
        ", and each program of --peers\n\n"
        "ns is the median over the rounds of the time for an allocation and its free; with "
        "several\n"
        "threads, wall time over the pairs of one thread. In replay it is for an event, in growth\n"
        "and for the p50 and p99.9 of handoff for one call. Percentiles are of single operations,\n"
        "timed apart from the rounds. No thread is pinned.\n\n"
        "exit code, the first that applies:\n"
        "  1  usage or configuration, or there is no driver to run on\n"
        "  2  a trace cannot be read\n"
        "  5  something that was asked for could not be measured\n"
        "  0  all was measured");
}

/* ---- options --------------------------------------------------------------------------------- */

static bool parse_rounds(const char *text, unsigned *rounds)
{
    size_t n = 0;
    *rounds = 0;
    if (text == NULL)
        return true;
    if (text[strspn(text, "0123456789")] != '\0' || !xs_parse_bytes(text, strlen(text), &n))
        return false;
    *rounds = (unsigned)xs_min(n, XS_ROUNDS_MAX + 1);
    return n >= 1 && n <= XS_ROUNDS_MAX;
}

/* Every name of a list must be one of `names`. */
static int check_list(const char *option, const char *list, const char *const *names, size_t n)
{
    const char *at = list;
    while (at != NULL) {
        char name[64];
        size_t len = strcspn(at, ",");
        size_t i = 0;
        snprintf(name, sizeof(name), "%.*s", (int)xs_min(len, sizeof(name) - 1), at);
        while (i < n && strcmp(name, names[i]) != 0)
            i++;
        const char *nearest = xs_args_nearest(name, names, n);
        if (i == n && nearest != NULL)
            return xs_args_refuse(COMMAND, "--%s: unknown name '%s' (did you mean '%s'?)", option,
                                  name, nearest);
        if (i == n)
            return xs_args_refuse(COMMAND, "--%s: unknown name '%s'", option, name);
        at = at[len] == ',' ? at + len + 1 : NULL;
    }
    return XS_EXIT_OK;
}

static int check_workloads(const char *list)
{
    const char *names[32];
    size_t n = xs_min(xs_n_workloads, XS_COUNT_OF(names));
    for (size_t i = 0; i < n; i++)
        names[i] = xs_workloads[i].name;
    return check_list("only", list, names, n);
}

static int check_contestants(const char *list, const struct xs_bench_peers *peers)
{
    const char *names[XS_COUNT_OF(contestants) + XS_BENCH_PEERS_MAX];
    size_t n = 0;
    for (; n < XS_COUNT_OF(contestants); n++)
        names[n] = contestants[n]->name;
    for (size_t i = 0; i < peers->n; i++)
        names[n++] = peers->names[i];
    return check_list("contestants", list, names, n);
}

static int take_settings(const struct xs_option *options, struct settings *s)
{
    s->only = options[ONLY].value;
    s->contestants = options[CONTESTANTS].value;
    s->is_quick = options[QUICK].value != NULL;
    s->json = options[JSON].value != NULL;
    s->conf = options[CONF].value;
    if (!xs_cuda_parse_choice(options[DRIVER].value, &s->driver))
        return xs_args_refuse(COMMAND, "--driver '%s': expected auto, sim or cuda",
                              options[DRIVER].value);
    if (!parse_rounds(options[ROUNDS].value, &s->rounds))
        return xs_args_refuse(COMMAND, "--rounds '%s': expected a number from 1 to %d",
                              options[ROUNDS].value, XS_ROUNDS_MAX);
    if (!xs_color_parse(options[COLOR].value, &s->color))
        return xs_args_refuse(COMMAND, "--color '%s': expected auto, always or never",
                              options[COLOR].value);
    if (options[PEERS].value != NULL &&
        xs_bench_peers_find(&s->peers, options[PEERS].value) != XSEG_OK)
        return xs_args_refuse(COMMAND, "--peers: %s", xs_error_text());
    int code = check_workloads(s->only);
    return code != XS_EXIT_OK ? code : check_contestants(s->contestants, &s->peers);
}

/* ---- running --------------------------------------------------------------------------------- */

static void emit(void *ctx, const struct xs_row *row)
{
    struct output *out = ctx;
    out->has_errors |= row->error[0] != '\0';
    if (row->error[0] != '\0')
        fprintf(stderr, "%s: %s: %s\n", COMMAND, row->bench, row->error);
    if (!out->settings->json) {
        xs_bench_rows_add(&out->rows, row);
        return;
    }
    xs_row_write(row, stdout);
    fflush(stdout);
}

static bool is_wanted(const struct settings *s, const struct xs_workload *w,
                      const struct xs_contestant *who)
{
    if (!xs_workload_is_listed(s->only, w->name))
        return false;
    if (w->run == xs_workload_replay && s->n_traces == 0)
        return false;
    if (who == &xs_contestant_xseg_by_id && s->contestants == NULL && w->run != xs_workload_pair)
        return false; /* differs in the price of a hit alone */
    return xs_workload_is_listed(s->contestants, who->name) &&
           !(w->needs_device && who->only_bytes != 0);
}

static void run_here(const struct settings *s, const struct xs_gpu *gpu, struct output *out)
{
    struct xs_progress progress;
    struct xs_bench b = {.gpu = gpu,
                         .plan = xs_workload_plan(s->is_quick, s->rounds),
                         .conf = s->conf,
                         .is_quick = s->is_quick,
                         .traces = s->traces,
                         .n_traces = s->n_traces,
                         .emit = emit,
                         .emit_ctx = out};
    size_t done = 0;
    xs_progress_begin(&progress, "bench", xs_n_workloads * XS_COUNT_OF(contestants));
    for (size_t i = 0; i < xs_n_workloads; i++) {
        for (size_t k = 0; k < XS_COUNT_OF(contestants); k++) {
            b.who = contestants[k];
            if (is_wanted(s, &xs_workloads[i], b.who))
                xs_workload_run(&xs_workloads[i], &b);
            xs_progress_update(&progress, ++done);
        }
    }
    xs_progress_end(&progress);
}

/* They know no simulator: they use the GPU, or fail. */
static void run_peers(const struct settings *s, struct output *out)
{
    struct xs_bench_peer_options options = {.is_quick = s->is_quick,
                                            .rounds = s->rounds,
                                            .only = s->only,
                                            .traces = s->traces,
                                            .n_traces = s->n_traces};
    for (size_t i = 0; i < s->peers.n; i++)
        if (xs_workload_is_listed(s->contestants, s->peers.names[i]))
            out->has_errors |= !xs_bench_peers_run(s->peers.paths[i], &options, emit, out);
}

static void print_machine(const struct settings *s, const struct xs_gpu *gpu)
{
    fprintf(s->json ? stderr : stdout, "%s: on %s%s, %u cores%s\n%s", COMMAND,
            gpu->is_simulator ? "the simulator: " : "the GPU: ", gpu->device_name, xs_crew_cores(),
            s->is_quick ? ", quick" : "", s->json ? "" : "\n");
}

static int run_on_gpu(const struct settings *s, const struct xs_gpu *gpu)
{
    struct output out = {.settings = s};
    xs_ticks_ns(); /* calibrates, before there are threads */
    print_machine(s, gpu);
    run_here(s, gpu, &out);
    run_peers(s, &out);
    if (!s->json)
        xs_bench_table_print(&out.rows, stdout, s->color);
    xs_bench_rows_clear(&out.rows);
    return out.has_errors ? XS_EXIT_FAILED : XS_EXIT_OK;
}

/* A refused configuration has been explained by the library's log, unless that is silent. */
static void report_prepare(enum xseg_result result, const struct xs_log_once *log)
{
    bool is_explained = result == XSEG_ERROR_CONFIG && !log->is_silent;
    fprintf(stderr, "%s: %s\n", COMMAND, is_explained ? "--conf is refused" : xs_error_text());
}

/* The configuration is tried before anything runs; each contestant is opened afresh later. */
static int run_on_driver(const struct settings *s)
{
    struct xs_cuda cuda;
    static struct xs_gpu gpu;
    if (xs_cuda_open(&cuda, s->driver, false) != XSEG_OK) {
        fprintf(stderr, "%s: %s\n", COMMAND, xs_error_text());
        return XS_EXIT_USAGE;
    }
    if (cuda.no_gpu[0] != '\0')
        fprintf(stderr, "%s: no GPU (%s), so on the simulator\n", COMMAND, cuda.no_gpu);
    struct xs_log_once log;
    xs_log_once_begin(&log);
    int code = XS_EXIT_USAGE;
    enum xseg_result result = xs_replay_prepare(&cuda, s->conf);
    if (result != XSEG_OK) {
        report_prepare(result, &log);
    } else if (!xs_gpu_open(&gpu, cuda.path)) {
        fprintf(stderr, "%s: %s\n", COMMAND, xs_bench_failure());
    } else {
        xseg_shutdown();
        code = run_on_gpu(s, &gpu);
        xs_gpu_close(&gpu);
    }
    xs_log_once_end();
    xs_cuda_close(&cuda);
    return code;
}

static int run(struct settings *s, char **paths, size_t n)
{
    s->n_traces = n;
    if (xs_bench_traces_load(&s->traces, paths, n) != XSEG_OK) {
        fprintf(stderr, "%s: %s\n", COMMAND, xs_error_text());
        return XS_EXIT_TRACE;
    }
    int code = run_on_driver(s);
    xs_bench_traces_unload(s->traces, n);
    return code;
}

int cmd_bench(int argc, char **argv)
{
    struct xs_option options[N_OPTIONS];
    struct xs_args args = {.command = COMMAND, .options = options, .n_options = N_OPTIONS};
    struct settings settings = {0};
    memcpy(options, option_table, sizeof(options));
    if (!xs_args_parse(&args, argc, argv))
        return XS_EXIT_USAGE;
    if (options[HELP].value != NULL) {
        print_help(&args);
        return XS_EXIT_OK;
    }
    int code = take_settings(options, &settings);
    if (code == XS_EXIT_OK && args.n_operands > 0 &&
        !xs_workload_is_listed(settings.only, "replay"))
        code = xs_args_refuse(COMMAND, "a TRACE is given, but --only leaves replay out");
    if (code == XS_EXIT_OK)
        code = run(&settings, args.operands, args.n_operands);
    xs_bench_peers_clear(&settings.peers);
    return code;
}
