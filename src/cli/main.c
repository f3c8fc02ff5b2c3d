/* The program xseg: finds the command and runs it. */
#include <locale.h>
#include <stdio.h>
#include <string.h>

#include "cli/args.h"
#include "cli/commands.h"

static const struct command {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *help;
} commands[] = {
    {"run", cmd_run, "run a CUDA program, unchanged, with xseg under it"},
    {"replay", cmd_replay, "replay recorded allocations and show the memory reserved for them"},
    {"bench", cmd_bench, "measure speed beside other allocators"},
    {"diagnose", cmd_diagnose,
     "say where the memory of a snapshot or a trace is, and what would fit"},
    {"report", cmd_report, "make a page of HTML of a snapshot or a trace"},
    {"stat", cmd_stat, "show the memory of running processes"},
    {"top", cmd_top, "the same, again and again"},
    {"metrics", cmd_metrics, "serve the same as Prometheus text"},
    {"conf", cmd_conf, "show the effective policy, each value with its source"},
    {"version", cmd_version, "show the version"},
    {"help", cmd_help, "show this text, or the help of a command: xseg help COMMAND"},
};

static const struct command *find_command(const char *name)
{
    static const char *const same[][2] = {
        {"--help", "help"}, {"-h", "help"}, {"--version", "version"}, {"-V", "version"}};
    for (size_t i = 0; i < XS_COUNT_OF(same); i++)
        if (strcmp(name, same[i][0]) == 0)
            name = same[i][1];
    for (size_t i = 0; i < XS_COUNT_OF(commands); i++)
        if (strcmp(name, commands[i].name) == 0)
            return &commands[i];
    return NULL;
}

static int refuse_command(const char *name)
{
    const char *names[XS_COUNT_OF(commands)];
    for (size_t i = 0; i < XS_COUNT_OF(commands); i++)
        names[i] = commands[i].name;
    const char *nearest = xs_args_nearest(name, names, XS_COUNT_OF(names));
    if (nearest != NULL)
        return xs_args_refuse("xseg", "unknown command '%s' (did you mean '%s'?)", name, nearest);
    return xs_args_refuse("xseg", "unknown command '%s'", name);
}

static void print_help(FILE *out)
{
    fprintf(out, "usage: xseg COMMAND [OPTION]...\n\n"
                 "A caching allocator for CUDA device memory.\n\n");
    for (size_t i = 0; i < XS_COUNT_OF(commands); i++)
        fprintf(out, "  %-8s  %s\n", commands[i].name, commands[i].help);
}

int cmd_help(int argc, char **argv)
{
    if (argc < 2) {
        print_help(stdout);
        return XS_EXIT_OK;
    }
    const struct command *command = find_command(argv[1]);
    if (command == NULL)
        return refuse_command(argv[1]);
    if (command->run == cmd_help || command->run == cmd_version)
        return printf("xseg %s: %s\n", command->name, command->help) < 0;
    char *help_argv[] = {argv[1], (char *)"--help", NULL};
    return command->run(2, help_argv);
}

int cmd_version(int argc, char **argv)
{
    (void)argv;
    if (argc > 1)
        return xs_args_refuse("xseg", "version: unexpected argument '%s'", argv[1]);
    printf("xseg %s\n", xseg_version());
    return XS_EXIT_OK;
}

/* Output that could not be written, to a full disk say, is a failure whatever the command thought. */
static int finish(int code)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return code;
    perror("xseg: standard output");
    return code != XS_EXIT_OK ? code : XS_EXIT_FAILED;
}

int main(int argc, char **argv)
{
    setlocale(LC_CTYPE, ""); /* only to know whether the terminal shows UTF-8 */
    if (argc < 2) {
        print_help(stderr);
        return XS_EXIT_USAGE;
    }
    const struct command *command = find_command(argv[1]);
    if (command == NULL)
        return refuse_command(argv[1]);
    return finish(command->run(argc - 1, argv + 1));
}
