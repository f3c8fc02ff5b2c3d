#include "cli/bench_peers.h"

#include <dirent.h>
#include <errno.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "cli/bench_traces.h"

#define ARGS_MAX   128
#define TRACES_MAX 48

extern char **environ;

/* ---- finding --------------------------------------------------------------------------------- */

static bool is_program(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISREG(info.st_mode) && access(path, X_OK) == 0;
}

static int is_visible(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static void take_if_program(struct xs_bench_peers *peers, const char *folder, const char *name)
{
    char *path;
    if (peers->n == XS_BENCH_PEERS_MAX || asprintf(&path, "%s/%s", folder, name) < 0)
        return;
    if (!is_program(path)) {
        free(path);
        return;
    }
    peers->names[peers->n] = strdup(name);
    peers->paths[peers->n++] = path;
}

enum xseg_result xs_bench_peers_find(struct xs_bench_peers *peers, const char *folder)
{
    struct dirent **entries;
    *peers = (struct xs_bench_peers){0};
    int n = scandir(folder, &entries, is_visible, alphasort);
    if (n < 0)
        return xs_fail(XSEG_ERROR_IO, "%s: %s", folder, strerror(errno));
    for (int i = 0; i < n; i++) {
        take_if_program(peers, folder, entries[i]->d_name);
        free(entries[i]);
    }
    free(entries);
    return peers->n > 0 ? XSEG_OK : xs_fail(XSEG_ERROR_IO, "%s: holds no program", folder);
}

void xs_bench_peers_clear(struct xs_bench_peers *peers)
{
    for (size_t i = 0; i < peers->n; i++) {
        free(peers->names[i]);
        free(peers->paths[i]);
    }
    peers->n = 0;
}

/* ---- running --------------------------------------------------------------------------------- */

/* The command line, and the files that it names. */
struct command {
    const char *args[ARGS_MAX];
    size_t n_args;
    char rounds[16];
    char trace_paths[TRACES_MAX][32];
    int trace_fds[TRACES_MAX];
    size_t n_traces;
};

static void add(struct command *c, const char *arg)
{
    c->args[c->n_args++] = arg;
    c->args[c->n_args] = NULL;
}

static void make_command(struct command *c, const char *path, const struct xs_bench_peer_options *o)
{
    *c = (struct command){0};
    add(c, path);
    if (o->is_quick)
        add(c, "--quick");
    if (o->rounds != 0) {
        snprintf(c->rounds, sizeof(c->rounds), "%u", o->rounds);
        add(c, "--rounds");
        add(c, c->rounds);
    }
    if (o->only != NULL) {
        add(c, "--only");
        add(c, o->only);
    }
    for (size_t i = 0; i < o->n_traces && i < TRACES_MAX; i++) {
        int fd = xs_bench_traces_share(&o->traces[i]);
        if (fd < 0)
            continue;
        char *name = c->trace_paths[c->n_traces];
        snprintf(name, sizeof(c->trace_paths[0]), "/proc/self/fd/%d", fd);
        c->trace_fds[c->n_traces++] = fd;
        add(c, "--trace");
        add(c, name);
    }
}

static void drop_command(const struct command *c)
{
    for (size_t i = 0; i < c->n_traces; i++)
        close(c->trace_fds[i]);
}

/* Its standard output becomes *out. Returns 0 or an error number. */
static int start(const struct command *c, pid_t *child, FILE **out)
{
    int ends[2];
    posix_spawn_file_actions_t actions;
    if (pipe(ends) != 0)
        return errno;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_addclose(&actions, ends[0]);
    posix_spawn_file_actions_addclose(&actions, ends[1]);
    int code = posix_spawn(child, c->args[0], &actions, NULL, (char *const *)c->args, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    *out = code == 0 ? fdopen(ends[0], "r") : NULL;
    if (*out == NULL)
        close(ends[0]);
    return code;
}

static void read_rows(FILE *out, const char *path,
                      void (*emit)(void *ctx, const struct xs_row *row), void *ctx)
{
    char *line = NULL;
    size_t bytes = 0;
    while (getline(&line, &bytes, out) > 0) {
        struct xs_row row;
        if (xs_row_read(&row, line))
            emit(ctx, &row);
        else
            fprintf(stderr, "%s: %s", path, line);
    }
    free(line);
}

bool xs_bench_peers_run(const char *path, const struct xs_bench_peer_options *options,
                        void (*emit)(void *ctx, const struct xs_row *row), void *ctx)
{
    struct command command;
    pid_t child;
    FILE *out;
    int status = 0;
    make_command(&command, path, options);
    int code = start(&command, &child, &out);
    drop_command(&command);
    if (code != 0) {
        fprintf(stderr, "%s: %s\n", path, strerror(code));
        return false;
    }
    if (out != NULL) {
        read_rows(out, path, emit, ctx);
        fclose(out);
    }
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    if (WIFSIGNALED(status))
        fprintf(stderr, "%s: ended by signal %d\n", path, WTERMSIG(status));
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}
