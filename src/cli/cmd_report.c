/* xseg report: a snapshot or a trace as one page of HTML that needs nothing else. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/args.h"
#include "cli/commands.h"
#include "cli/report_data.h"
#include "cli/report_page.h"
#include "cli/snapshot_input.h"

static const char kHelp[] = "usage: xseg report FILE -o PAGE.html\n"
                            "\n"
                            "Makes one page of a snapshot (of xseg or of PyTorch) or of a trace, "
                            "which opens in any browser\n"
                            "without a network: memory over time, the map of addresses, "
                            "fragmentation, the largest and the\n"
                            "longest-lived blocks, the diagnosis.\n"
                            "\n";

enum flag { OUTPUT, HELP, FLAGS };

/* In JSON a '<' is only ever in a text, and could end the script that the data stands in. */
static bool write_data(void *file, const char *bytes, size_t n)
{
    while (n > 0) {
        const char *less = memchr(bytes, '<', n);
        size_t part = less ? (size_t)(less - bytes) : n;
        if (fwrite(bytes, 1, part, file) != part || (less && fputs("\\u003c", file) < 0))
            return false;
        bytes += part + (less != NULL);
        n -= part + (less != NULL);
    }
    return true;
}

static bool print_data(FILE *file, struct xs_snapshots *set)
{
    static struct xs_out out;
    struct xs_json j = {.out = &out};
    bool ok = true;
    xs_out_begin(&out, write_data, file);
    xs_json_open(&j, NULL, '[');
    for (size_t i = 0; i < set->count; i++)
        ok &= report_data_print(&j, xs_snapshots_at(set, i));
    xs_json_close(&j, ']');
    return xs_out_end(&out) && ok;
}

static bool print_page(FILE *file, struct xs_snapshots *set, const char *title)
{
    static struct xs_out out;
    xs_out_begin(&out, xs_out_to_file, file);
    report_page_begin(&out, title);
    bool ok = xs_out_end(&out) && print_data(file, set);
    xs_out_begin(&out, xs_out_to_file, file);
    report_page_end(&out);
    return xs_out_end(&out) && ok;
}

static int write_page(struct xs_snapshots *set, const char *input, const char *path)
{
    FILE *file = fopen(path, "w");
    if (!file) {
        fprintf(stderr, "xseg report: %s: %s\n", path, strerror(errno));
        return XS_EXIT_FAILED;
    }
    bool ok = print_page(file, set, input);
    if (fclose(file) || !ok) {
        fprintf(stderr, "xseg report: %s: could not be written\n", path);
        return XS_EXIT_FAILED;
    }
    return XS_EXIT_OK;
}

/* "-o FILE", as everybody writes it. */
static void expand_o(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "-o") == 0)
            argv[i] = (char *)(uintptr_t) "--output";
}

int cmd_report(int argc, char **argv)
{
    struct xs_option options[FLAGS] = {
        [OUTPUT] = {"output", "PAGE.html", "where the page goes; -o for short", NULL},
        [HELP] = {"help", NULL, "this text", NULL},
    };
    struct xs_args args = {.command = "xseg report", .options = options, .n_options = FLAGS};
    expand_o(argc, argv);
    if (!xs_args_parse(&args, argc, argv))
        return XS_EXIT_USAGE;
    if (options[HELP].value) {
        fputs(kHelp, stdout);
        xs_args_print_options(&args, stdout);
        return XS_EXIT_OK;
    }
    if (args.n_operands != 1)
        return xs_args_refuse(args.command, "one FILE, not %zu", args.n_operands);
    if (!options[OUTPUT].value)
        return xs_args_refuse(args.command, "-o PAGE.html is missing");
    struct xs_snapshots set;
    if (xs_snapshot_input_load(&set, args.operands[0])) {
        fprintf(stderr, "xseg report: %s\n", xseg_last_error());
        return XS_EXIT_TRACE;
    }
    int code = write_page(&set, args.operands[0], options[OUTPUT].value);
    xs_snapshots_drop(&set);
    return code;
}
