/*
 * xseg replay: options to settings, then trace by trace. A trace that cannot be read, or that runs
 * out of memory, does not stop the others; the exit code tells the worst of what happened.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/fmt.h"
#include "cli/args.h"
#include "cli/commands.h"
#include "cli/log_once.h"
#include "cli/replay_print.h"
#include "cli/trace_input.h"

#define COMMAND    "xseg replay"
#define PASSES_MAX 1000
#define BEHIND_MAX 1000000

enum option { DRIVER, CONF, LIMIT, PASSES, BEHIND, JSON, VERIFY, COLOR, HELP, N_OPTIONS };

static const struct xs_option option_table[N_OPTIONS] = {
    [DRIVER] = {"driver", "auto|sim|cuda", "auto: the GPU if there is one, else the simulator",
                NULL},
    [CONF] = {"conf", "STRING", "policy, as in ALLOC_CONF, over what the environment says", NULL},
    [LIMIT] = {"limit", "BYTES|N.NNx",
               "most memory to reserve: \"20GiB\", or a multiple of\neach trace's peak requested: "
               "\"1.02x\"",
               NULL},
    [PASSES] = {"passes", "N", "replay each trace N times in the same allocator", NULL},
    [BEHIND] =
        {"behind", "N",
         "the simulator's GPU is N events behind: what is freed is\nin use for so long; times "
         "no events",
         NULL},
    [JSON] = {"json", NULL, "one object a line for each trace", NULL},
    [VERIFY] = {"verify", NULL,
                "fill each block when it is allocated, check it when it\nis freed; times no events",
                NULL},
    [COLOR] = {"color", "auto|always|never", "auto: on a terminal, unless NO_COLOR is set", NULL},
    [HELP] = {"help", NULL, "this text", NULL},
};

struct settings {
    enum xs_cuda_choice driver;
    struct xs_replay_options replay;
    bool json;
    enum xs_color color;
};

static void print_help(const struct xs_args *args)
{
    puts("usage: xseg replay [OPTION]... TRACE...\n\n"
         "Replays recorded allocations through xseg and shows how much memory it reserved for how\n"
         "much was requested, beside what other allocators reserved in the recorded run.\n"
         "A TRACE is a file, plain or gzip; - is standard input.\n");
    xs_args_print_options(args, stdout);
    puts(
        "\nThe first table and the top level of a JSON object show the first pass. Driver time is\n"
        "measured on a GPU and taken from a cost table on the simulator; it is not part of the "
        "time\n"
        "per event.\n\n"
        "XSEG_SIM_LIBRARY names the simulator; else it is looked for beside the program.\n\n"
        "exit code, the first that applies:\n"
        "  1  usage or configuration, or there is no driver to run on\n"
        "  5  the library or the driver failed, memory was not given back, or output not written\n"
        "  4  a block did not hold what was written to it (--verify)\n"
        "  2  a trace cannot be read\n"
        "  3  out of memory in some trace\n"
        "  0  all traces completed");
}

/* ---- options --------------------------------------------------------------------------------- */

static bool parse_limit(const char *text, struct xs_replay_limit *limit)
{
    *limit = (struct xs_replay_limit){0};
    if (text == NULL)
        return true;
    size_t len = strlen(text);
    if (len > 1 && text[len - 1] == 'x') {
        char *end;
        limit->times = strtod(text, &end);
        bool is_plain = strspn(text, "0123456789.") == len - 1 && end == text + len - 1;
        return is_plain && limit->times > 0 && limit->times <= 1000;
    }
    return xs_parse_bytes(text, len, &limit->bytes) && limit->bytes > 0;
}

/* From 1 to `most`; where there is no text *n is left as it is. */
static bool parse_count(const char *text, size_t most, size_t *n)
{
    if (text == NULL)
        return true;
    return strspn(text, "0123456789") == strlen(text) && xs_parse_bytes(text, strlen(text), n) &&
           *n >= 1 && *n <= most;
}

static int take_settings(const struct xs_option *options, struct settings *s)
{
    s->replay.conf = options[CONF].value;
    s->replay.verify = options[VERIFY].value != NULL;
    s->json = options[JSON].value != NULL;
    if (!xs_cuda_parse_choice(options[DRIVER].value, &s->driver))
        return xs_args_refuse(COMMAND, "--driver '%s': expected auto, sim or cuda",
                              options[DRIVER].value);
    if (!parse_limit(options[LIMIT].value, &s->replay.limit))
        return xs_args_refuse(COMMAND, "--limit '%s': expected bytes (20GiB) or a multiple (1.02x)",
                              options[LIMIT].value);
    size_t passes = 1;
    if (!parse_count(options[PASSES].value, PASSES_MAX, &passes))
        return xs_args_refuse(COMMAND, "--passes '%s': expected a number from 1 to %d",
                              options[PASSES].value, PASSES_MAX);
    s->replay.passes = (unsigned)passes;
    if (!parse_count(options[BEHIND].value, BEHIND_MAX, &s->replay.behind))
        return xs_args_refuse(COMMAND, "--behind '%s': expected a number from 1 to %d",
                              options[BEHIND].value, BEHIND_MAX);
    if (s->replay.behind != 0 && s->replay.verify)
        return xs_args_refuse(COMMAND, "--behind and --verify exclude each other");
    if (!xs_color_parse(options[COLOR].value, &s->color))
        return xs_args_refuse(COMMAND, "--color '%s': expected auto, always or never",
                              options[COLOR].value);
    return XS_EXIT_OK;
}

/* ---- traces ---------------------------------------------------------------------------------- */

static enum xs_exit judge(const struct xs_replay *replay)
{
    if (replay->leaked_bytes != 0)
        return XS_EXIT_FAILED;
    if (replay->mismatches != 0)
        return XS_EXIT_VERIFY;
    return replay->oom_event != 0 ? XS_EXIT_MEMORY : XS_EXIT_OK;
}

static enum xs_exit replay_one(const char *path, const struct xs_cuda *cuda,
                               const struct settings *s, struct xs_replay_row *row)
{
    struct xs_trace trace;
    if (xs_trace_input_load(&trace, path) != XSEG_OK) {
        fprintf(stderr, "%s: %s\n", COMMAND, xs_error_text());
        return XS_EXIT_TRACE;
    }
    xs_trace_input_name(row->name, sizeof(row->name), path);
    row->header = trace.header;
    enum xseg_result result = xs_replay_run(&row->replay, cuda, &s->replay, &trace, row->name);
    xs_trace_unload(&trace);
    if (result != XSEG_OK) {
        fprintf(stderr, "%s: %s: %s\n", COMMAND, path, xs_error_text());
        return XS_EXIT_FAILED;
    }
    if (s->json)
        xs_replay_print_json(row, cuda, &s->replay);
    return judge(&row->replay);
}

static enum xs_exit worse(enum xs_exit a, enum xs_exit b)
{
    static const int rank[] = {[XS_EXIT_OK] = 0,     [XS_EXIT_MEMORY] = 1, [XS_EXIT_TRACE] = 2,
                               [XS_EXIT_VERIFY] = 3, [XS_EXIT_FAILED] = 4, [XS_EXIT_USAGE] = 5};
    return rank[a] > rank[b] ? a : b;
}

/* After a failure of the library or the driver no further trace is tried: the context may be lost. */
static enum xs_exit replay_all(char **paths, size_t n, const struct xs_cuda *cuda,
                               const struct settings *s)
{
    struct xs_replay_row *rows = calloc(n, sizeof(*rows));
    size_t n_rows = 0;
    enum xs_exit code = rows == NULL ? XS_EXIT_FAILED : XS_EXIT_OK;
    bool is_lost = rows == NULL;
    for (size_t i = 0; i < n && !is_lost; i++) {
        enum xs_exit one = replay_one(paths[i], cuda, s, &rows[n_rows]);
        bool was_played = rows[n_rows].replay.passes != NULL;
        is_lost = one == XS_EXIT_FAILED && !was_played;
        n_rows += was_played;
        code = worse(code, one);
    }
    if (!s->json)
        xs_replay_print_tables(rows, n_rows, cuda, &s->replay, s->color);
    for (size_t i = 0; i < n_rows; i++)
        xs_replay_clear(&rows[i].replay);
    free(rows);
    return code;
}

/* A refused configuration has been explained by the library's log, unless that is silent. */
static void report_prepare(enum xseg_result result, const struct xs_log_once *log)
{
    bool is_explained = result == XSEG_ERROR_CONFIG && !log->is_silent;
    fprintf(stderr, "%s: %s\n", COMMAND, is_explained ? "--conf is refused" : xs_error_text());
}

static enum xs_exit replay_on_driver(char **paths, size_t n, const struct settings *s)
{
    struct xs_cuda cuda;
    if (xs_cuda_open(&cuda, s->driver, s->replay.verify) != XSEG_OK) {
        fprintf(stderr, "%s: %s\n", COMMAND, xs_error_text());
        return XS_EXIT_USAGE;
    }
    if (cuda.no_gpu[0] != '\0')
        fprintf(stderr, "%s: no GPU (%s), so on the simulator\n", COMMAND, cuda.no_gpu);
    else if (s->json)
        fprintf(stderr, "%s: on %s%s\n", COMMAND,
                cuda.is_simulator ? "the simulator: " : "the GPU: ", cuda.device_name);
    if (s->replay.behind != 0 && !cuda.is_simulator) {
        xs_cuda_close(&cuda);
        return xs_args_refuse(COMMAND, "--behind is for the simulator: --driver sim");
    }
    struct xs_log_once log;
    xs_log_once_begin(&log);
    enum xs_exit code = XS_EXIT_USAGE;
    enum xseg_result result = xs_replay_prepare(&cuda, s->replay.conf);
    if (result == XSEG_OK)
        code = replay_all(paths, n, &cuda, s);
    else
        report_prepare(result, &log);
    xs_log_once_end();
    xs_cuda_close(&cuda);
    return code;
}

int cmd_replay(int argc, char **argv)
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
    if (code != XS_EXIT_OK)
        return code;
    if (args.n_operands == 0)
        return xs_args_refuse(COMMAND, "no trace given");
    return replay_on_driver(args.operands, args.n_operands, &settings);
}
