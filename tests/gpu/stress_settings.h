/* What stress.c is told on its command line. */
#ifndef XS_TEST_STRESS_SETTINGS_H
#define XS_TEST_STRESS_SETTINGS_H

#include <stdlib.h>
#include <string.h>

#include "stress_driver.h"

#define MAX_THREADS 64
#define MAX_STREAMS 256

static struct {
    long seconds, threads, streams, limit_mib, seed;
    bool undeclared;
    const char *driver;
} set = {.seconds = 20, .threads = 4, .streams = 4, .limit_mib = 512, .seed = 1};

static inline void read_arguments(int argc, char **argv)
{
    const struct {
        const char *name;
        long *value, max;
    } numbers[] = {{"--seconds", &set.seconds, 86400},
                   {"--threads", &set.threads, MAX_THREADS},
                   {"--streams", &set.streams, 16},
                   {"--limit", &set.limit_mib, 1 << 20},
                   {"--seed", &set.seed, 1 << 20}};
    for (int i = 1; i < argc; i++) {
        size_t k = 0;
        while (k < sizeof(numbers) / sizeof(numbers[0]) && strcmp(argv[i], numbers[k].name))
            k++;
        const bool number = k < sizeof(numbers) / sizeof(numbers[0]);
        if (!strcmp(argv[i], "--undeclared"))
            set.undeclared = true;
        else if (i + 1 < argc && !strcmp(argv[i], "--driver"))
            set.driver = argv[++i];
        else if (i + 1 < argc && number)
            *numbers[k].value = strtol(argv[++i], NULL, 10);
        else
            fail("what is %s?", argv[i]);
        if (number && (*numbers[k].value < 1 || *numbers[k].value > numbers[k].max))
            fail("%s: not from 1 to %ld", numbers[k].name, numbers[k].max);
    }
    if (set.threads * set.streams > MAX_STREAMS)
        fail("more than %d streams", MAX_STREAMS);
}

#endif
