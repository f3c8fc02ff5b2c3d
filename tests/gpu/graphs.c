/*
 * Captured graphs and private pools on a GPU: growth inside a capture and beside one, in every capture mode; what a held
 * pool has mapped stays there for the next launch, whatever happens elsewhere.
 *
 *   graphs [DRIVER]        exit status 77 where there is no GPU
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "stress_driver.h"
#include "xseg/pools.h"

#define MIB ((size_t)1 << 20)

typedef struct CUgraph_st *graph;
typedef struct CUgraphExec_st *graph_exec;

#define GRAPHS(X)                                                                                  \
    X(cuStreamBeginCapture_v2, (stream s, int mode))                                               \
    X(cuStreamIsCapturing, (stream s, int *status))                                                \
    X(cuStreamEndCapture, (stream s, graph * g))                                                   \
    X(cuGraphInstantiateWithFlags, (graph_exec * e, graph g, unsigned long long flags))            \
    X(cuGraphLaunch, (graph_exec e, stream s))                                                     \
    X(cuGraphExecDestroy, (graph_exec e))                                                          \
    X(cuGraphDestroy, (graph g))                                                                   \
    X(cuMemcpyDtoDAsync_v2, (device_ptr to, device_ptr from, size_t bytes, stream s))

static struct {
#define X(name, params) int(*name) params;
    GRAPHS(X)
#undef X
} cg;

#define CG(call) must_work(cg.call, #call)

static void load_graphs(const char *path)
{
    void *library = dlopen(path ? path : "libcuda.so.1", RTLD_NOW);
#define X(name, params)                                                                            \
    if (!(*(void **)&cg.name = dlsym(library, #name)))                                             \
        fail("the driver has no %s", #name);
    GRAPHS(X)
#undef X
}

static context ctx;
static stream captured, beside;

static device_ptr take(size_t mib, stream s)
{
    void *p;
    XSEG(xseg_malloc(&p, mib * MIB, 0, s));
    return (device_ptr)(uintptr_t)p;
}

static void give(device_ptr p)
{
    XSEG(xseg_free((void *)(uintptr_t)p));
}

static void set(device_ptr p, unsigned char value, size_t mib, stream s)
{
    CU(cuMemsetD8Async(p, value, mib * MIB, s));
}

static void expect(device_ptr p, unsigned char value, const char *what)
{
    unsigned char found;
    CU(cuMemcpyDtoH_v2(&found, p, 1));
    if (found != value)
        fail("%s: %d where %d should be", what, found, value);
}

static size_t reserved(void)
{
    struct xseg_stats s = {.size = sizeof(s)};
    XSEG(xseg_get_stats(0, &s));
    return s.reserved_bytes.current;
}

/* Another thread grows, frees and gives back while the capture is open. */
static void *work_beside(void *unused)
{
    (void)unused;
    CU(cuCtxSetCurrent(ctx));
    device_ptr p = take(200, beside);
    give(p);
    give(take(300, beside));
    XSEG(xseg_empty_cache(0));
    return NULL;
}

struct captured {
    graph_exec exec;
    device_ptr p, q;
};

static void check_capturing(int mode)
{
    int status = 0;
    CG(cuStreamIsCapturing(captured, &status));
    if (status != 1)
        fail("mode %d: the capture is no longer valid", mode);
}

/* p is filled and copied to q, freed, handed out again, and filled anew: all in the order of the graph. */
static struct captured capture(xseg_pool pool, int mode)
{
    struct captured c;
    graph g;
    pthread_t thread;
    XSEG(xseg_capture(0, 1));
    XSEG(xseg_pool_begin(pool));
    CG(cuStreamBeginCapture_v2(captured, mode));
    c.p = take(48, captured);
    set(c.p, 1, 48, captured);
    if (pthread_create(&thread, NULL, work_beside, NULL))
        fail("no thread");
    pthread_join(thread, NULL);
    check_capturing(mode);
    c.q = take(96, captured);
    set(c.q, 2, 96, captured);
    CG(cuMemcpyDtoDAsync_v2(c.q, c.p, 48 * MIB, captured));
    give(c.p);
    if (take(48, captured) != c.p)
        fail("mode %d: memory that was freed in the capture was not reused in it", mode);
    set(c.p, 3, 48, captured);
    check_capturing(mode);
    CG(cuStreamEndCapture(captured, &g));
    XSEG(xseg_pool_end(pool));
    XSEG(xseg_capture(0, 0));
    CG(cuGraphInstantiateWithFlags(&c.exec, g, 0));
    CG(cuGraphDestroy(g));
    give(c.p);
    give(c.q);
    return c;
}

static void churn_elsewhere(void)
{
    device_ptr p[60];
    for (int i = 0; i < 60; i++) {
        p[i] = take((size_t)(1 + i % 9), beside);
        set(p[i], 0xee, (size_t)(1 + i % 9), beside);
    }
    for (int i = 0; i < 60; i++)
        give(p[i]);
    XSEG(xseg_empty_cache(0));
}

static void one_mode(int mode)
{
    xseg_pool pool;
    XSEG(xseg_pool_create(0, 0, &pool));
    struct captured c = capture(pool, mode);
    for (int launch = 0; launch < 3; launch++) {
        churn_elsewhere();
        CG(cuGraphLaunch(c.exec, captured));
        CU(cuStreamSynchronize(captured));
        expect(c.p, 3, "what was allocated again");
        expect(c.q + 47 * MIB, 1, "what was copied");
        expect(c.q + 95 * MIB, 2, "what was filled");
        set(c.q, 9, 96, captured);
    }
    CG(cuGraphExecDestroy(c.exec));
    XSEG(xseg_pool_destroy(pool));
    CU(cuCtxSynchronize());
    XSEG(xseg_empty_cache(0));
    if (reserved())
        fail("mode %d: %zu bytes are still reserved", mode, reserved());
}

int main(int argc, char **argv)
{
    static const char *const policies[] = {"expandable_segments:True", "expandable_segments:False"};
    int passed = 0;
    if (!load_driver(argv[1]) || cu.cuInit(0) || cu.cuDevicePrimaryCtxRetain(&ctx, 0)) {
        printf("skipped: no GPU\n");
        return 77;
    }
    if (argc > 1)
        XSEG(xseg_use_driver_library(argv[1]));
    load_graphs(argv[1]);
    CU(cuCtxSetCurrent(ctx));
    CU(cuStreamCreate(&captured, NON_BLOCKING));
    CU(cuStreamCreate(&beside, NON_BLOCKING));
    for (int i = 0; i < 2; i++) {
        XSEG(xseg_configure(policies[i]));
        for (int mode = 0; mode < 3; mode++, passed++) {
            one_mode(mode);
            printf("  ok    %s, capture mode %d\n", policies[i], mode);
        }
    }
    XSEG(xseg_shutdown());
    printf("%d passed, 0 failed\n", passed);
    return 0;
}
