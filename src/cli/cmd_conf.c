/* xseg conf: what a policy string, or the environment, comes to. */
#include <stdio.h>
#include <stdlib.h>

#include "base/json.h"
#include "cli/args.h"
#include "cli/commands.h"
#include "cli/conf_docs.h"
#include "cli/preload_docs.h"
#include "cli/stats_docs.h"
#include "cli/table.h"
#include "policy/conf.h"
#include "policy/policy.h"

static const char *const level_names[] = {"note", "warning", "error"};

static const char kHelp[] =
    "Usage: xseg conf [STRING | @FILE] [--json]\n"
    "       xseg conf --options | --example | --statistics | --preload\n"
    "\n"
    "Shows the policy that the environment sets, or that STRING would: each key, its value, and "
    "where\n"
    "the value comes from; then what there is to say about it. Fails if the text is refused.\n"
    "\n";

enum flag {
    FLAG_JSON,
    FLAG_OPTIONS,
    FLAG_EXAMPLE,
    FLAG_STATISTICS,
    FLAG_PRELOAD,
    FLAG_HELP,
    FLAG_COUNT
};

/* The policy as read, and what there was to say. */
struct reading {
    const char *text; /* NULL: the environment */
    struct xs_policy policy;
    struct xs_conf_report report;
    enum xseg_result result;
};

static void read_policy(struct reading *r)
{
    memset(&r->report, 0, sizeof(r->report));
    if (r->text) {
        xs_policy_defaults(&r->policy);
        r->result = xs_policy_apply(&r->policy, r->text, "argument", &r->report);
        r->report.input[0] = '\0'; /* who typed it need not see it again in each line */
    } else {
        r->result = xs_policy_from_environment(&r->policy, &r->report);
    }
}

static const char *level_name(const struct xs_conf_report *report, size_t i)
{
    return level_names[i < report->kept ? report->messages[i].level : XS_CONF_NOTE];
}

/* ---- as text ---- */

static void print_variables(void)
{
    printf("environment: ");
    for (size_t i = 0; i < xs_policy_variable_count; i++)
        printf("%s%s is %sset", i ? ", " : "", xs_policy_variables[i],
               getenv(xs_policy_variables[i]) ? "" : "not ");
    printf("\n\n");
}

static void print_table(const struct xs_policy *policy)
{
    char value[XS_OPTION_TEXT_BYTES], origin[XS_ORIGIN_BYTES];
    struct xs_table table = {0};
    xs_table_column(&table, true, "key");
    xs_table_column(&table, true, "value");
    xs_table_column(&table, true, "source");
    for (size_t i = 0; i < XS_OPTION_COUNT; i++) {
        xs_table_cell(&table, "%s", xs_options[i].key);
        xs_table_cell(&table, "%s", xs_option_write(&xs_options[i], policy, value));
        xs_table_cell(&table, "%s", xs_policy_origin(policy, (enum xs_option_id)i, origin));
    }
    xs_table_print(&table, stdout, XS_COLOR_AUTO);
    xs_table_clear(&table);
}

static void print_messages(FILE *out, const struct xs_conf_report *report)
{
    char line[XS_CONF_LINE_BYTES];
    for (size_t i = 0; xs_conf_report_line(report, i, line); i++)
        fprintf(out, "%s: %s\n", level_name(report, i), line);
}

/* The text with a caret under the first error. */
static void print_caret(const struct xs_conf_report *report)
{
    if (report->excerpt[0])
        fprintf(stderr, "    %s\n    %*s^\n", report->excerpt, (int)report->caret, "");
}

static void print_text(const struct reading *r)
{
    if (!r->text)
        print_variables();
    print_table(&r->policy);
    if (r->report.kept)
        putchar('\n');
    print_messages(stdout, &r->report);
}

/* ---- as JSON ---- */

static void print_json_option(struct xs_json *j, const struct xs_policy *policy,
                              enum xs_option_id id)
{
    char value[XS_OPTION_TEXT_BYTES], origin[XS_ORIGIN_BYTES];
    const struct xs_conf_option *o = &xs_options[id];
    bool is_size = o->type == XS_TYPE_MB || o->type == XS_TYPE_SIZE;
    size_t bytes = is_size ? xs_option_size(id, policy) : SIZE_MAX;
    xs_json_open(j, o->key, '{');
    xs_json_text(j, "value", xs_option_write(o, policy, value));
    if (bytes != SIZE_MAX)
        xs_json_count(j, "bytes", bytes);
    xs_json_text(j, "source", xs_policy_origin(policy, id, origin));
    xs_json_close(j, '}');
}

static void print_json_messages(struct xs_json *j, const struct xs_conf_report *report)
{
    char line[XS_CONF_LINE_BYTES];
    xs_json_open(j, "messages", '[');
    for (size_t i = 0; xs_conf_report_line(report, i, line); i++) {
        xs_json_open(j, NULL, '{');
        xs_json_text(j, "level", level_name(report, i));
        xs_json_text(j, "text", line);
        xs_json_close(j, '}');
    }
    xs_json_close(j, ']');
}

static void print_json(const struct reading *r)
{
    char text[XS_POLICY_TEXT_BYTES];
    struct xs_out out;
    struct xs_json j = {.out = &out};
    xs_out_begin(&out, xs_out_to_file, stdout);
    xs_policy_format(&r->policy, text);
    xs_json_open(&j, NULL, '{');
    xs_json_bool(&j, "refused", r->result != XSEG_OK);
    xs_json_text(&j, "alloc_conf", text);
    xs_json_open(&j, "options", '{');
    for (size_t i = 0; i < XS_OPTION_COUNT; i++)
        print_json_option(&j, &r->policy, (enum xs_option_id)i);
    xs_json_close(&j, '}');
    print_json_messages(&j, &r->report);
    xs_json_close(&j, '}');
    xs_out_text(&out, "\n");
    xs_out_end(&out);
}

/* ---- the command ---- */

static int show(const char *text, bool as_json)
{
    struct reading r = {.text = text};
    read_policy(&r);
    if (as_json)
        print_json(&r);
    if (r.result != XSEG_OK) {
        print_messages(stderr, &r.report);
        print_caret(&r.report);
        return XS_EXIT_USAGE;
    }
    if (!as_json)
        print_text(&r);
    return XS_EXIT_OK;
}

int cmd_conf(int argc, char **argv)
{
    struct xs_option options[FLAG_COUNT] = {
        [FLAG_JSON] = {"json", NULL, "as JSON", NULL},
        [FLAG_OPTIONS] = {"options", NULL, "the reference of all options, docs/options.md", NULL},
        [FLAG_EXAMPLE] = {"example", NULL, "a file with all defaults, alloc.conf.example", NULL},
        [FLAG_STATISTICS] = {"statistics", NULL,
                             "the reference of all statistics, docs/statistics.md", NULL},
        [FLAG_PRELOAD] = {"preload", NULL,
                          "what the preload stands before, docs/preload_entries.md", NULL},
        [FLAG_HELP] = {"help", NULL, "this text", NULL},
    };
    struct xs_args args = {.command = "xseg conf", .options = options, .n_options = FLAG_COUNT};
    if (!xs_args_parse(&args, argc, argv))
        return XS_EXIT_USAGE;
    if (args.n_operands > 1)
        return xs_args_refuse(args.command, "one STRING, not %zu", args.n_operands);
    if (options[FLAG_HELP].value) {
        fputs(kHelp, stdout);
        xs_args_print_options(&args, stdout);
    } else if (options[FLAG_OPTIONS].value) {
        conf_docs_options();
    } else if (options[FLAG_EXAMPLE].value) {
        conf_docs_example();
    } else if (options[FLAG_STATISTICS].value) {
        stats_docs();
    } else if (options[FLAG_PRELOAD].value) {
        preload_docs();
    } else {
        return show(args.n_operands ? args.operands[0] : NULL, options[FLAG_JSON].value);
    }
    return XS_EXIT_OK;
}
