/* xseg stat, xseg top: the memory of running processes. */
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "cli/args.h"
#include "cli/commands.h"
#include "cli/process_table.h"
#include "report/stats_print.h"

static struct xs_process processes[XS_PROCESSES_MAX];

static void close_all(size_t n)
{
    for (size_t i = 0; i < n; i++)
        xs_process_close(&processes[i]);
}

/* ---- stat ------------------------------------------------------------------------------------- */

static const char kStatHelp[] =
    "usage: xseg stat [PID] [--json]\n"
    "\n"
    "Shows the memory of a process of yours that runs xseg, or of all of them, as of its last "
    "visit to\n"
    "a slow path; what takes a walk over all blocks is not in it (null).\n"
    "\n";

static void print_json(size_t n)
{
    static struct xs_page_device d;
    struct xs_out out;
    struct xs_json j = {.out = &out};
    xs_out_begin(&out, xs_out_to_file, stdout);
    xs_json_open(&j, NULL, '[');
    for (size_t i = 0; i < n; i++)
        for (int device = 0; device < XS_DEVICE_LIMIT; device++) {
            if (!xs_page_read(processes[i].page, device, &d))
                continue;
            xs_json_open(&j, NULL, '{');
            xs_json_signed(&j, "pid", processes[i].pid);
            xs_json_text(&j, "command", processes[i].command);
            xs_json_real(&j, "age_seconds", xs_process_age_seconds(&d), 3);
            xs_json_real(&j, "growth_bytes_per_second", xs_process_growth(&d), 0);
            xs_stats_print_json(&j, "stats", &d.stats, SIZE_MAX);
            xs_json_close(&j, '}');
        }
    xs_json_close(&j, ']');
    xs_out_text(&out, "\n");
    xs_out_end(&out);
}

static bool find(const char *text, size_t *n)
{
    const char *why;
    char *end;
    if (!text) {
        *n = xs_processes_find(processes);
        return true;
    }
    long pid = strtol(text, &end, 10);
    *n = 1;
    if (*end || end == text || pid < 1 || pid > INT32_MAX) {
        fprintf(stderr, "xseg stat: '%s' is not the number of a process\n", text);
        return false;
    }
    if (xs_process_open(&processes[0], (int)pid, &why))
        return true;
    fprintf(stderr, "xseg stat: %ld: %s\n", pid, why);
    return false;
}

int cmd_stat(int argc, char **argv)
{
    struct xs_option options[] = {{"json", NULL, "as JSON", NULL},
                                  {"help", NULL, "this text", NULL}};
    struct xs_args args = {.command = "xseg stat", .options = options, .n_options = 2};
    size_t n;
    if (!xs_args_parse(&args, argc, argv))
        return XS_EXIT_USAGE;
    if (options[1].value) {
        fputs(kStatHelp, stdout);
        xs_args_print_options(&args, stdout);
        return XS_EXIT_OK;
    }
    if (args.n_operands > 1)
        return xs_args_refuse(args.command, "one PID, not %zu", args.n_operands);
    if (!find(args.n_operands ? args.operands[0] : NULL, &n))
        return XS_EXIT_FAILED;
    if (options[0].value)
        print_json(n);
    else
        xs_process_table_print(processes, n, XS_COLOR_AUTO);
    close_all(n);
    return XS_EXIT_OK;
}

/* ---- top -------------------------------------------------------------------------------------- */

static const char kTopHelp[] =
    "usage: xseg top\n"
    "\n"
    "Shows the memory of all your processes that run xseg, again and again; q, or control "
    "and C, ends it.\n"
    "\n";

/* False: the person wants to leave, or has gone. */
static bool wait_a_second(void)
{
    struct pollfd key = {.fd = STDIN_FILENO, .events = POLLIN};
    char c = 0;
    if (poll(&key, 1, 1000) <= 0)
        return true;
    return read(STDIN_FILENO, &c, 1) == 1 && c != 'q';
}

int cmd_top(int argc, char **argv)
{
    struct xs_option options[] = {{"once", NULL, "show it once", NULL},
                                  {"help", NULL, "this text", NULL}};
    struct xs_args args = {.command = "xseg top", .options = options, .n_options = 2};
    if (!xs_args_parse(&args, argc, argv))
        return XS_EXIT_USAGE;
    if (options[1].value) {
        fputs(kTopHelp, stdout);
        xs_args_print_options(&args, stdout);
        return XS_EXIT_OK;
    }
    if (args.n_operands)
        return xs_args_refuse(args.command, "unexpected argument '%s'", args.operands[0]);
    bool again = !options[0].value;
    do {
        size_t n = xs_processes_find(processes);
        if (again)
            fputs(xs_terminal_is_live(stdout) ? "\033[H\033[2J" : "\n", stdout);
        xs_process_table_print(processes, n, XS_COLOR_AUTO);
        close_all(n);
        if (fflush(stdout))
            return XS_EXIT_FAILED;
    } while (again && wait_a_second());
    return XS_EXIT_OK;
}
