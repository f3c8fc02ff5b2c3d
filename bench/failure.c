#include "bench/failure.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>

static struct {
    pthread_mutex_t lock;
    char text[XS_BENCH_FAILURE_BYTES];
} first = {.lock = PTHREAD_MUTEX_INITIALIZER};

bool xs_bench_fail(const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    pthread_mutex_lock(&first.lock);
    if (first.text[0] == '\0')
        vsnprintf(first.text, sizeof(first.text), fmt, args);
    pthread_mutex_unlock(&first.lock);
    va_end(args);
    return false;
}

void xs_bench_failure_clear(void)
{
    pthread_mutex_lock(&first.lock);
    first.text[0] = '\0';
    pthread_mutex_unlock(&first.lock);
}

const char *xs_bench_failure(void)
{
    return first.text;
}
