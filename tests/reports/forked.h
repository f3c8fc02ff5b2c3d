/* Runs a function in a child process: its own driver, its own settings. */
#ifndef XS_TEST_FORKED_H
#define XS_TEST_FORKED_H

#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

/* The child's exit status; 0 if the function returned, 128 and its number if a signal ended it. */
static inline int run_forked(void (*body)(void))
{
    int status;
    fflush(NULL);
    const pid_t pid = fork();
    if (pid == 0) {
        alarm(300); /* a call that never returns is a failure too */
        body();
        exit(0);
    }
    if (pid < 0 || waitpid(pid, &status, 0) != pid)
        return 127;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

#endif
