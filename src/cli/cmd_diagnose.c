/* xseg diagnose: where the memory of a snapshot or a trace is, and whether a request would fit. */
#include <stdlib.h>
#include <string.h>

#include "base/fmt.h"
#include "cli/args.h"
#include "cli/commands.h"
#include "cli/snapshot_input.h"
#include "report/diagnosis.h"

static const char kHelp[] =
    "usage: xseg diagnose FILE | PID [OPTION]...\n"
    "\n"
    "Shows where the memory of a snapshot is (of xseg, or of PyTorch's _dump_snapshot()), or of a\n"
    "trace at its peak: what is live, what is cached, which extents are pinned by which blocks, "
    "how\n"
    "much of it lives long. For a request that was refused, or one that --request asks about, "
    "why.\n"
    "A running process is asked for a snapshot, if it was started with snapshot_signal and\n"
    "snapshot_path.\n"
    "\n";

enum flag { REQUEST, LIMIT, BATCH, DEVICE, JSON, HELP, FLAGS };

struct question {
    uint64_t request, limit; /* 0: none */
    double batch;
    long device; /* -1: all */
    bool is_json;
};

static bool read_bytes(const struct xs_option *o, const char *command, uint64_t *bytes)
{
    size_t value = 0;
    if (!o->value)
        return true;
    if (!xs_parse_bytes(o->value, strlen(o->value), &value) || !value) {
        xs_args_refuse(command, "--%s: '%s' is not a size", o->name, o->value);
        return false;
    }
    *bytes = value;
    return true;
}

static bool read_number(const struct xs_option *o, const char *command, double least,
                        double *number)
{
    char *end;
    if (!o->value)
        return true;
    *number = strtod(o->value, &end);
    if (*end || end == o->value || !(*number >= least && *number <= 1e9)) {
        xs_args_refuse(command, "--%s: '%s' is not a number from %g on", o->name, o->value, least);
        return false;
    }
    return true;
}

static bool read_question(const struct xs_option *options, const char *command, struct question *q)
{
    double device = -1;
    q->is_json = options[JSON].value != NULL;
    bool ok = read_bytes(&options[REQUEST], command, &q->request) &&
              read_bytes(&options[LIMIT], command, &q->limit) &&
              read_number(&options[BATCH], command, 1, &q->batch) &&
              read_number(&options[DEVICE], command, 0, &device);
    q->device = (long)device;
    return ok;
}

/* What is asked for where nothing was refused: would it be? */
static bool would_fit(const struct xs_diagnosis *d)
{
    return d->refusal.bytes <= d->largest && d->live + d->refusal.bytes <= d->capacity;
}

static void set_limit(struct xs_snapshot *s, uint64_t limit)
{
    struct xseg_stats *stats = &s->stats;
    uint64_t reserved = stats->reserved_bytes.current;
    uint64_t most = stats->largest_reclaimable_bytes + limit - xs_min(limit, reserved);
    stats->limit_bytes = limit;
    stats->largest_obtainable_bytes = xs_min(stats->largest_obtainable_bytes, most);
}

static void diagnose(struct xs_out *out, struct xs_json *j, struct xs_snapshot *s,
                     const struct question *q)
{
    struct xs_diagnosis d;
    const struct xs_refusal refusal = {.requested = q->request, .bytes = q->request};
    if (q->limit)
        set_limit(s, q->limit);
    xs_diagnose(&d, s, q->request ? &refusal : NULL);
    if (q->request && would_fit(&d)) {
        d.verdict = XS_VERDICT_NONE;
        memset(d.advice, 0, sizeof(d.advice));
    }
    if (q->is_json)
        xs_diagnosis_print_json(j, &d, q->batch);
    else
        xs_diagnosis_print_text(out, &d, q->batch);
}

static int diagnose_all(struct xs_snapshots *set, const struct question *q)
{
    struct xs_out out;
    struct xs_json j = {.out = &out};
    size_t shown = 0;
    xs_out_begin(&out, xs_out_to_file, stdout);
    if (q->is_json)
        xs_json_open(&j, NULL, '[');
    for (size_t i = 0; i < set->count; i++) {
        struct xs_snapshot *s = xs_snapshots_at(set, i);
        if (q->device >= 0 && s->device != q->device)
            continue;
        diagnose(&out, &j, s, q);
        shown++;
    }
    if (q->is_json) {
        xs_json_close(&j, ']');
        xs_out_text(&out, "\n");
    }
    xs_out_end(&out);
    if (!shown)
        fprintf(stderr, "xseg diagnose: the snapshot says nothing of %s\n",
                q->device < 0 ? "any device" : "this device");
    return shown ? XS_EXIT_OK : XS_EXIT_TRACE;
}

int cmd_diagnose(int argc, char **argv)
{
    struct xs_option options[FLAGS] = {
        [REQUEST] = {"request", "SIZE", "would a request of this size be served? (4G)", NULL},
        [LIMIT] = {"limit", "SIZE", "with no more memory than this", NULL},
        [BATCH] = {"batch", "N", "the micro-batch now: would batch 1 fit?", NULL},
        [DEVICE] = {"device", "N", "this device alone", NULL},
        [JSON] = {"json", NULL, "as JSON", NULL},
        [HELP] = {"help", NULL, "this text", NULL},
    };
    struct xs_args args = {.command = "xseg diagnose", .options = options, .n_options = FLAGS};
    struct question q = {0};
    if (!xs_args_parse(&args, argc, argv))
        return XS_EXIT_USAGE;
    if (options[HELP].value) {
        fputs(kHelp, stdout);
        xs_args_print_options(&args, stdout);
        return XS_EXIT_OK;
    }
    if (args.n_operands != 1)
        return xs_args_refuse(args.command, "one FILE, not %zu", args.n_operands);
    if (!read_question(options, args.command, &q))
        return XS_EXIT_USAGE;
    struct xs_snapshots set;
    if (xs_snapshot_input_load(&set, args.operands[0])) {
        fprintf(stderr, "xseg diagnose: %s\n", xseg_last_error());
        return XS_EXIT_TRACE;
    }
    int code = diagnose_all(&set, &q);
    xs_snapshots_drop(&set);
    return code;
}
