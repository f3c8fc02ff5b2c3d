/*
 * Options of a command: one table gives the parser and the help. `--name value`, `--name=value`,
 * flags, and `--`, behind which everything is an operand; "-" is an operand. The last of several wins.
 */
#ifndef XS_CLI_ARGS_H
#define XS_CLI_ARGS_H

#include <stdio.h>

#include "base/base.h"

struct xs_option {
    const char *name;  /* without the dashes */
    const char *arg;   /* what its value is called in the help; NULL: a flag */
    const char *help;  /* may hold newlines */
    const char *value; /* out: NULL where it was not given; "" for a flag */
};

struct xs_args {
    const char *command; /* for messages: "xseg replay" */
    struct xs_option *options;
    size_t n_options;
    char **operands; /* out */
    size_t n_operands;
};

/* Fills values and operands from argv[1]..; moves operands to the front of argv. False: a message has
 * been written that quotes the argument and the nearest option. */
bool xs_args_parse(struct xs_args *args, int argc, char **argv);
void xs_args_print_options(const struct xs_args *args, FILE *out);

/* The name that `word` was probably meant to be; NULL where none is near. */
const char *xs_args_nearest(const char *word, const char *const *names, size_t n);

/* Writes "COMMAND: MESSAGE" and where to find help; returns XS_EXIT_USAGE. */
int xs_args_refuse(const char *command, const char *fmt, ...) XS_PRINTF(2, 3);

#endif
