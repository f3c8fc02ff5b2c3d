/*
 * The commands of the program and its exit codes. A command gets its own name as argv[0], writes its
 * result to standard output and everything else to standard error, and returns an exit code.
 */
#ifndef XS_CLI_COMMANDS_H
#define XS_CLI_COMMANDS_H

enum xs_exit {
    XS_EXIT_OK = 0,
    XS_EXIT_USAGE = 1,  /* usage, configuration, or no driver to run on */
    XS_EXIT_TRACE = 2,  /* a trace cannot be read */
    XS_EXIT_MEMORY = 3, /* out of memory in some trace */
    XS_EXIT_VERIFY = 4, /* a block did not hold what was written to it */
    XS_EXIT_FAILED = 5  /* another failure: library, driver, output; or memory not given back */
};

int cmd_bench(int argc, char **argv);
int cmd_conf(int argc, char **argv);
int cmd_diagnose(int argc, char **argv);
int cmd_metrics(int argc, char **argv);
int cmd_report(int argc, char **argv);
int cmd_stat(int argc, char **argv);
int cmd_top(int argc, char **argv);
int cmd_replay(int argc, char **argv);
int cmd_run(int argc, char **argv);
int cmd_version(int argc, char **argv);
int cmd_help(int argc, char **argv);

#endif
