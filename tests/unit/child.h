/* Runs a function in a child process: what may abort, or needs a process in which nothing was loaded. */
#ifndef XS_TESTS_CHILD_H
#define XS_TESTS_CHILD_H

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

struct child_result {
    int status;        /* as waitpid() has it */
    char output[4096]; /* what it wrote on standard error */
};

static inline void child_read(int fd, struct child_result *result)
{
    size_t len = 0;
    ssize_t n;
    while (len < sizeof(result->output) - 1 &&
           (n = read(fd, result->output + len, sizeof(result->output) - 1 - len)) > 0)
        len += (size_t)n;
    result->output[len] = '\0';
    close(fd);
}

static inline struct child_result run_child(int (*body)(void))
{
    struct child_result result = {.status = -1};
    int pipe_ends[2];
    fflush(NULL);
    if (pipe(pipe_ends))
        return result;
    pid_t pid = fork();
    if (pid == 0) {
        struct rlimit no_core = {0, 0};
        setrlimit(RLIMIT_CORE, &no_core);
        dup2(pipe_ends[1], STDERR_FILENO);
        close(pipe_ends[0]);
        close(pipe_ends[1]);
        _exit(body());
    }
    close(pipe_ends[1]);
    child_read(pipe_ends[0], &result);
    waitpid(pid, &result.status, 0);
    return result;
}

static inline bool child_aborted(const struct child_result *result)
{
    return WIFSIGNALED(result->status) && WTERMSIG(result->status) == SIGABRT;
}

static inline bool child_returned(const struct child_result *result, int code)
{
    return WIFEXITED(result->status) && WEXITSTATUS(result->status) == code;
}

/* In a child: ends it with the line's number on standard error. */
#define CHILD_CHECK(condition)                                                                     \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                        \
            return 99;                                                                             \
        }                                                                                          \
    } while (0)

#define assert_child_passes(body)                                                                  \
    do {                                                                                           \
        struct child_result child_ = run_child(body);                                              \
        if (!child_returned(&child_, 0))                                                           \
            fail_msg("child: status 0x%x, %s", (unsigned)child_.status, child_.output);            \
    } while (0)

#endif
