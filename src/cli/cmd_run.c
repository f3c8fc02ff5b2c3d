/*
 * xseg run: becomes the program, with the preload in its environment. So signals, exit code, terminal and process
 * number are the program's own.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/args.h"
#include "cli/beside.h"
#include "cli/commands.h"

#define COMMAND "xseg run"

/* As the shell has it. */
enum { EXIT_CANNOT_RUN = 126, EXIT_NOT_FOUND = 127 };

enum option { REPORT, RECORD, CONF, OFF, HELP, N_OPTIONS };

static const struct xs_option option_table[N_OPTIONS] = {
    [REPORT] = {"report", NULL,
                "when the program exits, write to standard error what it used,\nand what was not "
                "covered",
                NULL},
    [RECORD] = {"record", "FILE",
                "write its allocations as a trace for xseg replay; processes\nthat it starts "
                "write FILE.NUMBER",
                NULL},
    [CONF] = {"conf", "STRING", "policy: sets ALLOC_CONF", NULL},
    [OFF] = {"off", NULL, "preload, but pass every call straight through", NULL},
    [HELP] = {"help", NULL, "this text", NULL},
};

static void print_help(const struct xs_args *args)
{
    puts("usage: xseg run [OPTION]... [--] PROGRAM [ARGUMENT]...\n\n"
         "Runs a CUDA program, unchanged, with xseg under it: what it asks of cudaMalloc, "
         "cudaMallocAsync,\n"
         "cuMemAlloc and their relatives is served by xseg, however it reaches them.\n");
    xs_args_print_options(args, stdout);
    puts("\nThe exit code is the program's; 126 if it cannot be run, 127 if there is none of that "
         "name.");
}

/* How many arguments are ours: options stop at the program's name, or behind "--". */
static int count_own(const struct xs_option *options, int argc, char **argv)
{
    int i = 1;
    for (; i < argc && argv[i][0] == '-' && argv[i][1] != '\0'; i++) {
        if (strcmp(argv[i], "--") == 0)
            return i + 1;
        for (size_t o = 0; o < N_OPTIONS; o++)
            if (options[o].arg != NULL && strncmp(argv[i], "--", 2) == 0 &&
                strcmp(argv[i] + 2, options[o].name) == 0)
                i++;
    }
    return i < argc ? i : argc;
}

/* ---- the environment ------------------------------------------------------------------------- */

/* In front of what is there already. */
static void put_first(const char *name, const char *value)
{
    char text[2 * PATH_MAX];
    const char *old = getenv(name);
    if (old == NULL || *old == '\0') {
        setenv(name, value, 1);
        return;
    }
    int n = snprintf(text, sizeof(text), "%s:%s", value, old);
    if (n > 0 && (size_t)n < sizeof(text))
        setenv(name, text, 1);
}

static bool preload(void)
{
    static const char *const places[] = {"libxseg_preload.so", "../lib/libxseg_preload.so"};
    char path[PATH_MAX];
    if (!xs_beside_find(places, XS_COUNT_OF(places), path, sizeof(path))) {
        fprintf(stderr, COMMAND ": %s has no %s\n", path, places[0]);
        return false;
    }
    if (strpbrk(path, " :") != NULL) {
        fprintf(stderr,
                COMMAND ": the loader cannot preload '%s': its path has a space or a colon\n",
                path);
        return false;
    }
    put_first("LD_PRELOAD", path);
    return true;
}

/* The program may change its folder before it first allocates. */
static bool set_record(const char *file)
{
    char path[2 * PATH_MAX], folder[PATH_MAX];
    if (file[0] == '/') {
        setenv("XSEG_RECORD", file, 1);
        return true;
    }
    if (getcwd(folder, sizeof(folder)) == NULL) {
        perror(COMMAND ": the current folder");
        return false;
    }
    snprintf(path, sizeof(path), "%s/%s", folder, file);
    setenv("XSEG_RECORD", path, 1);
    return true;
}

static bool set_environment(const struct xs_option *options)
{
    char number[32];
    snprintf(number, sizeof(number), "%d", (int)getpid());
    setenv("XSEG_RUN_PID", number, 1);
    if (options[REPORT].value)
        setenv("XSEG_REPORT", "1", 1);
    if (options[CONF].value)
        setenv("ALLOC_CONF", options[CONF].value, 1);
    if (options[OFF].value)
        setenv("XSEG_PRELOAD", "0", 1);
    else
        unsetenv("XSEG_PRELOAD");
    return (!options[RECORD].value || set_record(options[RECORD].value)) && preload();
}

/* ---- the command ----------------------------------------------------------------------------- */

static int become(char **argv)
{
    fflush(stdout);
    execvp(argv[0], argv);
    int code = errno == ENOENT ? EXIT_NOT_FOUND : EXIT_CANNOT_RUN;
    fprintf(stderr, COMMAND ": %s: %s\n", argv[0], strerror(errno));
    return code;
}

int cmd_run(int argc, char **argv)
{
    struct xs_option options[N_OPTIONS];
    memcpy(options, option_table, sizeof(options));
    struct xs_args args = {.command = COMMAND, .options = options, .n_options = N_OPTIONS};
    int own = count_own(options, argc, argv);
    if (!xs_args_parse(&args, own, argv))
        return XS_EXIT_USAGE;
    if (options[HELP].value) {
        print_help(&args);
        return XS_EXIT_OK;
    }
    if (own == argc)
        return xs_args_refuse(COMMAND, "no program");
    return set_environment(options) ? become(argv + own) : XS_EXIT_USAGE;
}
