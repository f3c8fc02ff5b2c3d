/*
 * Threads against each other over the simulator, whose memory the host can read: every block is
 * filled with a number of its own and looked at before it is freed, so two threads that hold the
 * same memory are found out, and ThreadSanitizer sees whether each hand-over is ordered.
 *
 * A scene is a few roles that play at once for XSEG_RACE_MS milliseconds; after it all threads have
 * ended and freed their blocks, xseg's records agree with the driver's, and xseg is shut down.
 */
#ifndef XS_TEST_RACE_H
#define XS_TEST_RACE_H

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

#include "../model/xseg_fixture.h"

#define RACE_ROLES   6
#define RACE_THREADS 16

struct racer {
    pthread_t thread;
    void (*play)(struct racer *r);
    unsigned number; /* among all threads of the scene, from 0 */
    uint64_t seed;
    uint64_t made; /* blocks, for their numbers */
};

struct role {
    void (*play)(struct racer *r);
    unsigned threads;
};

struct scene {
    const char *name;
    const char *conf;    /* ALLOC_CONF; NULL: none */
    void (*begin)(void); /* may be NULL, as `end` */
    struct role role[RACE_ROLES];
    void (*end)(void);
};

static _Atomic bool race_over;

static inline bool race_goes_on(void)
{
    return !atomic_load_explicit(&race_over, memory_order_relaxed);
}

static inline long race_milliseconds(void)
{
    const char *text = getenv("XSEG_RACE_MS");
    return text ? atol(text) : 1500;
}

static inline void race_pause(long us)
{
    const struct timespec t = {us / 1000000, us % 1000000 * 1000};
    nanosleep(&t, NULL);
}

/* xorshift64 */
static inline uint64_t race_random(struct racer *r)
{
    r->seed ^= r->seed << 13;
    r->seed ^= r->seed >> 7;
    r->seed ^= r->seed << 17;
    return r->seed;
}

static inline size_t race_below(struct racer *r, size_t n)
{
    return (size_t)(race_random(r) % n);
}

/* ---- blocks ------------------------------------------------------------------------------------ */

struct held {
    char *p;
    size_t bytes;
    uint64_t number;
};

/* Every 512 bytes of small blocks, less often in large ones: all memory is real. */
static inline size_t race_stride(size_t bytes)
{
    return bytes <= 256 * XS_KIB ? 512 : bytes <= 2 * XS_MIB ? 4 * XS_KIB : 256 * XS_KIB;
}

static inline void race_fill(const struct held *h)
{
    for (size_t at = 0; at + 8 <= h->bytes; at += race_stride(h->bytes))
        memcpy(h->p + at, &h->number, 8);
    memcpy(h->p + h->bytes - 8, &h->number, 8);
}

static inline void race_look_at(const struct held *h, size_t at)
{
    uint64_t found;
    memcpy(&found, h->p + at, 8);
    if (found != h->number)
        XT_FAIL("block %#llx of %zu bytes at %p holds %#llx at %zu", (unsigned long long)h->number,
                h->bytes, (void *)h->p, (unsigned long long)found, at);
}

static inline void race_look(const struct held *h)
{
    for (size_t at = 0; at + 8 <= h->bytes; at += race_stride(h->bytes))
        race_look_at(h, at);
    race_look_at(h, h->bytes - 8);
}

/* Of a multiple of 8 bytes. False: out of memory, which only a scene with a limit may see. */
static inline bool race_take(struct racer *r, struct held *h, size_t bytes, xs_cu_stream stream)
{
    void *p = xt_try(bytes, stream);
    if (!p)
        return false;
    *h = (struct held){p, bytes, (uint64_t)(r->number + 1) << 48 | ++r->made};
    race_fill(h);
    return true;
}

static inline void race_give(struct held *h)
{
    race_look(h);
    xt_free(h->p);
    h->p = NULL;
}

/* Mostly sizes that come again, up to 1 MiB; sometimes any. */
static inline size_t race_size(struct racer *r)
{
    static const size_t common[] = {512,         4 * XS_KIB,   20 * XS_KIB,
                                    64 * XS_KIB, 200 * XS_KIB, XS_MIB};
    if (race_below(r, 16))
        return common[race_below(r, XS_COUNT_OF(common))];
    return 8 * (1 + race_below(r, 3 * XS_MIB / 8));
}

/* ---- scenes ------------------------------------------------------------------------------------ */

static void *race_thread(void *arg)
{
    struct racer *r = arg;
    r->play(r);
    return NULL;
}

static inline unsigned race_start(const struct scene *scene, struct racer *racers)
{
    unsigned n = 0;
    for (unsigned i = 0; i < RACE_ROLES; i++) {
        for (unsigned k = 0; k < scene->role[i].threads; k++, n++) {
            struct racer *r = &racers[n];
            XT_CHECK(n < RACE_THREADS);
            *r = (struct racer){.play = scene->role[i].play, .number = n};
            r->seed = 88172645463325252u ^ (uint64_t)(n + 1) << 40;
            XT_EQUAL(pthread_create(&r->thread, NULL, race_thread, r), 0);
        }
    }
    return n;
}

static inline void race_play(const struct scene *scene)
{
    static struct racer racers[RACE_THREADS];
    atomic_store(&race_over, false);
    const unsigned n = race_start(scene, racers);
    race_pause(race_milliseconds() * 1000);
    atomic_store(&race_over, true);
    for (unsigned i = 0; i < n; i++)
        pthread_join(racers[i].thread, NULL);
}

static inline void race_run(const struct scene *scene)
{
    snprintf(xt_where, sizeof(xt_where), "%s", scene->name);
    setenv("ALLOC_CONF", scene->conf ? scene->conf : "", 1);
    xt_make_context(0);
    if (scene->begin)
        scene->begin();
    race_play(scene);
    if (scene->end)
        scene->end();
    xt_check();
    XT_EQUAL(xt_stats(0).allocations.current, 0);
    XT_EQUAL(xt_stats(0).requested_bytes.current, 0);
    XT_EQUAL(xt_stats(0).allocated_bytes.current, 0);
    XT_OK(xseg_shutdown());
    xt_drop_context(0);
    xt_check_nothing_left();
    printf("  ok    %s\n", scene->name);
}

/* Of all scenes, or those whose name contains argv[1]. */
static inline int race_main(const struct scene *scenes, size_t n, int argc, char **argv)
{
    unsigned run = 0;
    setvbuf(stdout, NULL, _IOLBF, 0);
    unsetenv("PYTORCH_ALLOC_CONF");
    unsetenv("PYTORCH_CUDA_ALLOC_CONF");
    alarm(300); /* a hang is a failure too */
    xt_load_simulator();
    for (size_t i = 0; i < n; i++) {
        if (argc > 1 && !strstr(scenes[i].name, argv[1]))
            continue;
        race_run(&scenes[i]);
        run++;
    }
    printf("%u passed, 0 failed\n", run);
    return run ? 0 : 1;
}

#endif
