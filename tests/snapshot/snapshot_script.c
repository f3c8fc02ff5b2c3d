/*
 * A scripted run that leaves snapshots and what is true of it, for check_snapshot.py:
 *
 *   snapshot_script FOLDER CONF    FOLDER/end.pickle, end.json, truth.txt; busy-N.pickle, taken beside threads
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "xseg/xseg.h"

#define LIVE    400
#define THREADS 3
#define BUSY    4

static void must(enum xseg_result e)
{
    if (!e)
        return;
    fprintf(stderr, "%s: %s\n", xseg_result_name(e), xseg_last_error());
    exit(1);
}

static uint64_t next(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return *seed >> 33;
}

static size_t some_size(uint64_t *seed)
{
    return 1 + (size_t)(next(seed) % (next(seed) % 4 ? 100000 : 9000000));
}

/* ---- one thread, so that everything is known -------------------------------------------------- */

static void *pointer[LIVE];

static const char *tag_of(unsigned i)
{
    static const char *const tags[] = {"embed", "layer0", "layer1", "head \"quoted\" \xff"};
    return tags[i % 4];
}

static void churn(unsigned steps)
{
    uint64_t seed = 7;
    for (unsigned step = 0; step < steps; step++) {
        unsigned i = (unsigned)(next(&seed) % LIVE);
        must(xseg_free(pointer[i]));
        must(xseg_tag_push("step"));
        must(xseg_tag_push(tag_of(i)));
        must(xseg_malloc(&pointer[i], some_size(&seed), 0, NULL));
        must(xseg_tag_pop());
        must(xseg_tag_pop());
    }
}

static void tell_truth(const char *folder)
{
    char path[4096];
    snprintf(path, sizeof(path), "%s/truth.txt", folder);
    FILE *f = fopen(path, "w");
    struct xseg_stats s = {.size = sizeof(s)};
    must(xseg_get_stats(0, &s));
    fprintf(f, "reserved %llu\nallocated %llu\nactive %llu\n",
            (unsigned long long)s.reserved_bytes.current,
            (unsigned long long)s.allocated_bytes.current,
            (unsigned long long)s.active_bytes.current);
    for (unsigned i = 0; i < LIVE; i++) {
        size_t requested, allocated;
        if (!pointer[i])
            continue;
        must(xseg_pointer_sizes(pointer[i], &requested, &allocated));
        fprintf(f, "live %llu %zu %zu %u\n", (unsigned long long)(uintptr_t)pointer[i], requested,
                allocated, i % 4);
    }
    if (fclose(f))
        exit(1);
}

static void save(const char *folder, const char *name)
{
    char path[4096];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    must(xseg_snapshot(path));
}

/* ---- several ---------------------------------------------------------------------------------- */

static _Atomic int stop;
static _Atomic(void *) shared[64];

/* Threads free each other's blocks; memory is given back now and then. */
static void *busy_thread(void *arg)
{
    uint64_t seed = (uintptr_t)arg;
    for (unsigned step = 0; !atomic_load(&stop); step++) {
        void *p;
        for (unsigned i = 0; i < 50; i++) { /* hits: they change blocks without the heap's lock */
            must(xseg_malloc(&p, 4096, 0, NULL));
            must(xseg_free(p));
        }
        must(xseg_malloc(&p, some_size(&seed), 0, NULL));
        p = atomic_exchange(&shared[next(&seed) % 64], p);
        must(xseg_free(p));
        if (step % 1000 == 999)
            must(xseg_empty_cache(0));
    }
    return NULL;
}

static void be_busy(const char *folder)
{
    pthread_t thread[THREADS];
    for (uintptr_t i = 0; i < THREADS; i++)
        if (pthread_create(&thread[i], NULL, busy_thread, (void *)(i + 1)))
            exit(1);
    for (unsigned i = 0; i < BUSY; i++) {
        char name[32];
        struct timespec pause = {0, 10000000};
        nanosleep(&pause, NULL);
        snprintf(name, sizeof(name), "busy-%u.pickle", i);
        save(folder, name);
    }
    atomic_store(&stop, 1);
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    for (unsigned i = 0; i < 64; i++)
        must(xseg_free(atomic_exchange(&shared[i], NULL)));
}

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    must(xseg_use_driver_library(getenv("XSEG_TEST_SIM")));
    must(xseg_configure(argv[2]));
    churn(3000);
    must(xseg_empty_cache(0));
    churn(300);
    tell_truth(argv[1]);
    save(argv[1], "end.pickle");
    save(argv[1], "end.json");
    /* Without a cache the driver may give an address away again before its free is booked. */
    if (!strstr(argv[2], "backend:cudaMalloc"))
        be_busy(argv[1]);
    for (unsigned i = 0; i < LIVE; i++)
        must(xseg_free(pointer[i]));
    must(xseg_shutdown());
    return 0;
}
