#include "cli/args.h"

#include <stdarg.h>
#include <string.h>

#include "cli/commands.h"

#define WORD_MAX    48
#define OPTIONS_MAX 32

int xs_args_refuse(const char *command, const char *fmt, ...)
{
    va_list args;
    fprintf(stderr, "%s: ", command);
    va_start(args, fmt);
    vfprintf(stderr, fmt, args);
    va_end(args);
    fprintf(stderr, "\nTry '%s --help'.\n", command);
    return XS_EXIT_USAGE;
}

/* ---- the nearest name ------------------------------------------------------------------------ */

/* Insertions, removals and replacements that make b out of a; one row of the table at a time. */
static size_t edit_distance(const char *a, const char *b)
{
    size_t row[WORD_MAX + 1];
    size_t n = strlen(b);
    for (size_t j = 0; j <= n; j++)
        row[j] = j;
    for (size_t i = 1; a[i - 1] != '\0'; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= n; j++) {
            size_t replaced = diagonal + (a[i - 1] != b[j - 1]);
            diagonal = row[j];
            row[j] = xs_min(replaced, xs_min(row[j], row[j - 1]) + 1);
        }
    }
    return row[n];
}

const char *xs_args_nearest(const char *word, const char *const *names, size_t n)
{
    const char *nearest = NULL;
    size_t best = xs_max(strlen(word) / 3, 1) + 1;
    if (strlen(word) > WORD_MAX)
        return NULL;
    for (size_t i = 0; i < n; i++) {
        size_t distance = strlen(names[i]) > WORD_MAX ? best : edit_distance(word, names[i]);
        if (distance < best) {
            best = distance;
            nearest = names[i];
        }
    }
    return nearest;
}

static bool refuse_unknown(const struct xs_args *args, const char *given, const char *name)
{
    const char *names[OPTIONS_MAX];
    for (size_t i = 0; i < args->n_options; i++)
        names[i] = args->options[i].name;
    const char *nearest = xs_args_nearest(name, names, args->n_options);
    if (nearest != NULL)
        xs_args_refuse(args->command, "unknown option '%s' (did you mean '--%s'?)", given, nearest);
    else
        xs_args_refuse(args->command, "unknown option '%s'", given);
    return false;
}

/* ---- parsing --------------------------------------------------------------------------------- */

static struct xs_option *find_option(const struct xs_args *args, const char *name)
{
    for (size_t i = 0; i < args->n_options; i++)
        if (strcmp(args->options[i].name, name) == 0)
            return &args->options[i];
    return NULL;
}

/* An argument that begins with a dash, at argv[*i]; takes the next one too where it is the value. */
static bool take_option(const struct xs_args *args, int argc, char **argv, int *i)
{
    char name[WORD_MAX + 1];
    const char *given = argv[*i];
    const char *equals = strchr(given, '=');
    bool is_long = strncmp(given, "--", 2) == 0;
    const char *text = is_long ? given + 2 : strcmp(given, "-h") == 0 ? "help" : given;
    size_t len = equals != NULL && is_long ? (size_t)(equals - text) : strlen(text);
    snprintf(name, sizeof(name), "%.*s", (int)xs_min(len, WORD_MAX), text);

    struct xs_option *option = find_option(args, name);
    if (option == NULL)
        return refuse_unknown(args, given, name);
    if (option->arg == NULL && equals != NULL) {
        xs_args_refuse(args->command, "'%s': option '--%s' takes no value", given, name);
        return false;
    }
    if (option->arg != NULL && equals == NULL && *i + 1 >= argc) {
        xs_args_refuse(args->command, "option '--%s' needs a value: %s", name, option->arg);
        return false;
    }
    if (option->arg == NULL)
        option->value = "";
    else
        option->value = equals != NULL ? equals + 1 : argv[++*i];
    return true;
}

bool xs_args_parse(struct xs_args *args, int argc, char **argv)
{
    bool only_operands = false;
    args->operands = argv + 1;
    args->n_operands = 0;
    for (int i = 1; i < argc; i++) {
        bool is_option = !only_operands && argv[i][0] == '-' && argv[i][1] != '\0';
        if (!is_option)
            args->operands[args->n_operands++] = argv[i];
        else if (strcmp(argv[i], "--") == 0)
            only_operands = true;
        else if (!take_option(args, argc, argv, &i))
            return false;
    }
    return true;
}

void xs_args_print_options(const struct xs_args *args, FILE *out)
{
    for (size_t i = 0; i < args->n_options; i++) {
        const struct xs_option *o = &args->options[i];
        char left[WORD_MAX + 1];
        snprintf(left, sizeof(left), "--%s%s%s", o->name, o->arg ? " " : "", o->arg ? o->arg : "");
        const char *text = o->help;
        for (;;) {
            int len = (int)strcspn(text, "\n");
            fprintf(out, "  %-26s %.*s\n", left, len, text);
            if (text[len] == '\0')
                break;
            text += len + 1;
            left[0] = '\0';
        }
    }
}
