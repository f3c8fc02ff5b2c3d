/*
 * xseg against a real GPU: threads with several streams each fill every block with a number of its own by a
 * kernel on the block's stream, look at it by a kernel on that stream before it is freed, and now and then
 * on another stream too: behind an event, after a while, and declared by xseg_record_stream(), or freed there
 * by xseg_free_async(). A limit makes streams borrow from each other and extents move; threads
 * empty the cache and trim at random, and streams come and go. Wrong words are counted on the GPU.
 *
 *   stress [--seconds N] [--threads N] [--streams N] [--limit MIB] [--seed N] [--undeclared]
 *          [--driver PATH]
 *
 * Exit status 0: all words were right. 1: some were wrong, or a call failed. 77: there is no GPU.
 * With --undeclared uses on other streams are not declared, blocks are poisoned when they are freed, and
 * memory is neither limited nor given back: then 0 says that wrong words were found, as they must be, and 1
 * that there were none in N seconds.
 *
 * Public API and libcuda alone. --driver: another libcuda; one without kernels, such as xseg's simulator,
 * is given sets and host functions instead.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "stress_driver.h"
#include "stress_kernels.h"
#include "stress_settings.h"

/* ---- counts ------------------------------------------------------------------------ */

#define WINDOW 24 /* blocks that a thread has at most */

static struct {
    context ctx;
    device_ptr tally; /* words wrong, words looked at */
    function fill, verify, spin;
    stream all[MAX_STREAMS];
    _Atomic bool over;
    _Atomic uint64_t blocks, bytes, crossed, refused, trims, churned;
    _Atomic uint64_t host_wrong, host_seen; /* where there are no kernels */
} gpu;

struct block {
    char *p;
    size_t bytes;
    uint64_t number;
    stream owner;
    bool crossed;
};

struct worker {
    pthread_t thread;
    unsigned index;
    uint64_t random, made;
    stream *own;
    event order;
    struct block block[WINDOW];
};

static uint64_t draw(struct worker *w)
{
    w->random ^= w->random << 13;
    w->random ^= w->random >> 7;
    w->random ^= w->random << 17;
    return w->random;
}

static size_t below(struct worker *w, size_t n)
{
    return (size_t)(draw(w) % n);
}

/* ---- work on the GPU ---------------------------------------------------------------------------- */

static void launch(function f, size_t words, stream s, void **params)
{
    const size_t blocks = (words + 255) / 256;
    CU(cuLaunchKernel(f, blocks < 264 ? (unsigned)blocks : 264, 1, 1, 256, 1, 1, 0, s, params,
                      NULL));
}

struct look {
    const unsigned char *p;
    size_t bytes;
    unsigned char value;
};

static void look_on_host(void *arg)
{
    struct look *look = arg;
    uint64_t wrong = 0;
    for (size_t i = 0; i < look->bytes; i += 512)
        wrong += look->p[i] != look->value;
    wrong += look->p[look->bytes - 1] != look->value;
    gpu.host_wrong += wrong;
    gpu.host_seen += look->bytes / 512;
    free(look);
}

static unsigned char byte_of(uint64_t number)
{
    return (unsigned char)(number % 101 + 1);
}

static void fill(const struct block *b, stream s)
{
    uint64_t words = b->bytes / 8, number = b->number;
    const void *params[] = {&b->p, &words, &number};
    if (gpu.fill)
        launch(gpu.fill, words, s, (void **)params);
    else
        CU(cuMemsetD8Async((device_ptr)(uintptr_t)b->p, byte_of(number), b->bytes, s));
}

static void verify(const struct block *b, stream s)
{
    uint64_t words = b->bytes / 8, number = b->number;
    const void *params[] = {&b->p, &words, &number, &gpu.tally};
    if (gpu.verify) {
        launch(gpu.verify, words, s, (void **)params);
        return;
    }
    struct look *look = malloc(sizeof(*look));
    if (!look)
        fail("no memory");
    *look = (struct look){(const unsigned char *)b->p, b->bytes, byte_of(number)};
    CU(cuLaunchHostFunc(s, look_on_host, look));
}

/* Keeps the stream busy, so that it lags behind the others. */
static void lag(struct worker *w, stream s)
{
    uint64_t ns = below(w, 400000);
    void *params[] = {&ns};
    if (gpu.spin)
        CU(cuLaunchKernel(gpu.spin, 1, 1, 1, 1, 1, 1, 0, s, params, NULL));
}

static void put_behind(struct worker *w, stream first, stream then)
{
    CU(cuEventRecord(w->order, first));
    CU(cuStreamWaitEvent(then, w->order, 0));
}

/* ---- one block ---------------------------------------------------------------------------------- */

/* 512 B to 64 MiB, those to 1 MiB more often; half of them sizes that come again. */
static size_t some_size(struct worker *w)
{
    const size_t size = (size_t)512 << below(w, below(w, 3) ? 12 : 18);
    return below(w, 2) || size == (size_t)64 << 20 ? size : size + below(w, size / 8) * 8;
}

static bool take(struct worker *w, struct block *b, stream owner)
{
    void *p = NULL;
    *b = (struct block){.bytes = some_size(w), .owner = owner};
    const enum xseg_result e = xseg_malloc(&p, b->bytes, 0, owner);
    if (e == XSEG_ERROR_OUT_OF_MEMORY) {
        gpu.refused++;
        return false;
    }
    must(e, "xseg_malloc");
    b->p = p;
    b->number = (uint64_t)(w->index + 1) << 48 | ++w->made;
    gpu.blocks++;
    gpu.bytes += b->bytes;
    fill(b, owner);
    return true;
}

static void use_elsewhere(struct worker *w, struct block *b)
{
    stream other = gpu.all[below(w, (size_t)(set.threads * set.streams))];
    put_behind(w, b->owner, other);
    lag(w, other);
    verify(b, other);
    if (!set.undeclared)
        XSEG(xseg_record_stream(b->p, other));
    b->crossed |= other != b->owner;
    gpu.crossed++;
}

static void give(struct worker *w, struct block *b)
{
    if (!b->p)
        return;
    if (b->crossed || below(w, 4)) {
        verify(b, b->owner);
        XSEG(xseg_free(b->p));
    } else {
        stream other = gpu.all[below(w, (size_t)(set.threads * set.streams))];
        put_behind(w, b->owner, other);
        verify(b, other);
        XSEG(xseg_free_async(b->p, other));
    }
    b->p = NULL;
}

/* ---- a thread ----------------------------------------------------------------------------------- */

/* A stream that lives for a few blocks, and ends while it is busy. */
static void come_and_go(struct worker *w)
{
    struct block b;
    stream s;
    CU(cuStreamCreate(&s, NON_BLOCKING));
    const bool vouched = below(w, 2);
    if (vouched)
        XSEG(xseg_stream_register(0, s));
    for (size_t n = 1 + below(w, 4); n; n--) {
        if (!take(w, &b, s))
            break;
        lag(w, s);
        verify(&b, s);
        XSEG(xseg_free(b.p));
    }
    if (vouched)
        XSEG(xseg_stream_unregister(0, s));
    if (set.undeclared) /* poison wants streams that outlive their blocks */
        CU(cuStreamSynchronize(s));
    CU(cuStreamDestroy_v2(s));
    gpu.churned++;
}

static void give_back(struct worker *w)
{
    if (below(w, 2))
        XSEG(xseg_empty_cache(0));
    else
        XSEG(xseg_trim(0, below(w, (size_t)set.limit_mib) << 20));
    gpu.trims++;
}

static void step(struct worker *w)
{
    struct block *b = &w->block[below(w, WINDOW)];
    stream own = w->own[below(w, (size_t)set.streams)];
    if (b->p)
        give(w, b);
    else if (!take(w, b, own))
        for (unsigned i = 0; i < WINDOW / 2; i++)
            give(w, &w->block[i]);
    else if (!below(w, 3))
        use_elsewhere(w, b);
    if (!set.undeclared && !below(w, 300))
        give_back(w);
    if (!below(w, 200))
        come_and_go(w);
    if (!below(w, 250)) /* the CPU is not to be minutes ahead */
        CU(cuStreamSynchronize(own));
}

static void *work(void *arg)
{
    struct worker *w = arg;
    CU(cuCtxSetCurrent(gpu.ctx));
    CU(cuEventCreate(&w->order, NO_TIMING));
    while (!atomic_load(&gpu.over))
        step(w);
    for (unsigned i = 0; i < WINDOW; i++)
        give(w, &w->block[i]);
    CU(cuCtxSynchronize());
    CU(cuEventDestroy_v2(w->order));
    return NULL;
}

/* ---- the whole ---------------------------------------------------------------------------------- */

static void load_kernels(void)
{
    module m;
    if (!cu.cuModuleLoadData || !cu.cuModuleGetFunction || !cu.cuLaunchKernel) {
        printf("no kernels in this driver: sets and host functions instead\n");
        return;
    }
    CU(cuModuleLoadData(&m, stress_kernels));
    CU(cuModuleGetFunction(&gpu.fill, m, "fill"));
    CU(cuModuleGetFunction(&gpu.verify, m, "verify"));
    CU(cuModuleGetFunction(&gpu.spin, m, "spin"));
}

static void begin(void)
{
    if (set.undeclared) /* extents would be unmapped under such uses, and those fault */
        setenv("ALLOC_CONF", "poison:165,expandable_segments:False", 1);
    if (set.driver)
        XSEG(xseg_use_driver_library(set.driver));
    if (!load_driver(set.driver) || cu.cuInit(0) || cu.cuDevicePrimaryCtxRetain(&gpu.ctx, 0)) {
        printf("skipped: no GPU\n");
        exit(77);
    }
    CU(cuCtxSetCurrent(gpu.ctx));
    CU(cuMemAlloc_v2(&gpu.tally, 16));
    CU(cuMemsetD8Async(gpu.tally, 0, 16, NULL));
    CU(cuCtxSynchronize());
    load_kernels();
    if (!set.undeclared)
        XSEG(xseg_set_limit(0, (size_t)set.limit_mib << 20));
    for (long i = 0; i < set.threads * set.streams; i++) {
        CU(cuStreamCreate(&gpu.all[i], NON_BLOCKING));
        if (i % 2)
            XSEG(xseg_stream_register(0, gpu.all[i]));
    }
}

static void read_tally(uint64_t *wrong, uint64_t *seen)
{
    uint64_t words[2];
    CU(cuMemcpyDtoH_v2(words, gpu.tally, sizeof(words)));
    *wrong = words[0] + gpu.host_wrong;
    *seen = words[1] + gpu.host_seen;
}

static void run_threads(void)
{
    static struct worker workers[MAX_THREADS];
    uint64_t wrong = 0, seen;
    for (long i = 0; i < set.threads; i++) {
        workers[i].index = (unsigned)i;
        workers[i].random = 88172645463325252u ^ (uint64_t)(set.seed + i) << 40;
        workers[i].own = &gpu.all[i * set.streams];
        if (pthread_create(&workers[i].thread, NULL, work, &workers[i]))
            fail("no thread");
    }
    for (long tick = 0; tick < set.seconds * 4 && !(set.undeclared && wrong); tick++) {
        nanosleep(&(struct timespec){0, 250000000}, NULL);
        read_tally(&wrong, &seen);
    }
    atomic_store(&gpu.over, true);
    for (long i = 0; i < set.threads; i++)
        pthread_join(workers[i].thread, NULL);
}

static void print_statistics(void)
{
    struct xseg_stats s = {.size = sizeof(s)};
    XSEG(xseg_get_stats(0, &s));
#define SHOW(field) printf("  %-20s %llu\n", #field, (unsigned long long)s.field)
    SHOW(reserved_bytes.peak);
    SHOW(allocated_bytes.peak);
    SHOW(cache_hits);
    SHOW(rung_depot);
    SHOW(rung_best_fit);
    SHOW(rung_flush);
    SHOW(rung_poll);
    SHOW(rung_map);
    SHOW(rung_create);
    SHOW(rung_borrow);
    SHOW(rung_wait);
    SHOW(rung_release);
    SHOW(extents_moved);
    SHOW(extents_aliased);
    SHOW(out_of_memory);
    SHOW(driver_create);
    SHOW(driver_map);
    SHOW(driver_unmap);
#undef SHOW
    if (!set.undeclared && s.reserved_bytes.peak > (uint64_t)set.limit_mib << 20)
        fail("more was reserved than the limit of %ld MiB", set.limit_mib);
    if (s.allocated_bytes.peak > s.reserved_bytes.peak)
        fail("more was allocated than reserved at the peak");
    if (s.allocations.current || s.allocated_bytes.current)
        fail("%llu blocks are live at the end", (unsigned long long)s.allocations.current);
}

/* Everything goes back once the GPU is done. */
static void end(void)
{
    struct xseg_stats s = {.size = sizeof(s)};
    CU(cuCtxSynchronize());
    for (long i = 0; i < set.threads * set.streams; i++) {
        if (i % 2)
            XSEG(xseg_stream_unregister(0, gpu.all[i]));
        CU(cuStreamDestroy_v2(gpu.all[i]));
    }
    XSEG(xseg_empty_cache(0));
    XSEG(xseg_get_stats(0, &s));
    if (s.reserved_bytes.current)
        fail("%llu bytes cannot be given back", (unsigned long long)s.reserved_bytes.current);
    CU(cuMemFree_v2(gpu.tally));
    XSEG(xseg_shutdown());
}

int main(int argc, char **argv)
{
    uint64_t wrong, seen;
    read_arguments(argc, argv);
    begin();
    run_threads();
    read_tally(&wrong, &seen);
    printf("%llu blocks, %.1f GiB, %llu uses elsewhere, %llu refused, %llu trims, %llu short-lived "
           "streams\n",
           (unsigned long long)gpu.blocks, (double)gpu.bytes / (1 << 30),
           (unsigned long long)gpu.crossed, (unsigned long long)gpu.refused,
           (unsigned long long)gpu.trims, (unsigned long long)gpu.churned);
    print_statistics();
    end();
    printf("%llu of %llu words wrong\n", (unsigned long long)wrong, (unsigned long long)seen);
    if (set.undeclared)
        printf(wrong ? "found, as it must be: uses were not declared\n"
                     : "uses were not declared, and nothing was found\n");
    return set.undeclared ? !wrong : wrong || !seen;
}
