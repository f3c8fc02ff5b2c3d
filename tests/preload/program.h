/*
 * What the small CUDA programs of this folder share. They know nothing of xseg: they get the driver's functions in
 * one way or another, and are run with and without the preload. Whether it is there, and what it has counted, they
 * learn from xseg_get_stats(), which it exports.
 */
#ifndef XS_TEST_PROGRAM_H
#define XS_TEST_PROGRAM_H

#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sim/sim_abi.h"
#include "sim/sim_control.h"
#include "xseg/xseg.h"

#define MIB ((size_t)1 << 20)

#define FAIL(...)                                                                                  \
    do {                                                                                           \
        fprintf(stderr, "%s:%d: ", __FILE__, __LINE__);                                            \
        fprintf(stderr, __VA_ARGS__);                                                              \
        fprintf(stderr, "\n");                                                                     \
        exit(1);                                                                                   \
    } while (0)

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition))                                                                          \
            FAIL("%s", #condition);                                                                \
    } while (0)

#define EQUAL(a, b)                                                                                \
    do {                                                                                           \
        const unsigned long long a_ = (unsigned long long)(a), b_ = (unsigned long long)(b);       \
        if (a_ != b_)                                                                              \
            FAIL("%s is %llu, %s is %llu", #a, a_, #b, b_);                                        \
    } while (0)

#define CU(call) EQUAL(call, XS_CUDA_SUCCESS)

/* X(name, symbol, base, (parameters)): the driver's functions that the programs call */
#define PROGRAM_LIST(X)                                                                            \
    X(init, "cuInit", "cuInit", (unsigned flags))                                                  \
    X(retain, "cuDevicePrimaryCtxRetain", "cuDevicePrimaryCtxRetain",                              \
      (xs_cu_context * context, xs_cu_device device))                                              \
    X(release, "cuDevicePrimaryCtxRelease_v2", "cuDevicePrimaryCtxRelease", (xs_cu_device device)) \
    X(reset, "cuDevicePrimaryCtxReset_v2", "cuDevicePrimaryCtxReset", (xs_cu_device device))       \
    X(ctx_create, "cuCtxCreate_v2", "cuCtxCreate",                                                 \
      (xs_cu_context * context, unsigned flags, xs_cu_device device))                              \
    X(ctx_destroy, "cuCtxDestroy_v2", "cuCtxDestroy", (xs_cu_context context))                     \
    X(set_current, "cuCtxSetCurrent", "cuCtxSetCurrent", (xs_cu_context context))                  \
    X(synchronize, "cuCtxSynchronize", "cuCtxSynchronize", (void))                                 \
    X(peer_enable, "cuCtxEnablePeerAccess", "cuCtxEnablePeerAccess",                               \
      (xs_cu_context peer, unsigned flags))                                                        \
    X(peer_disable, "cuCtxDisablePeerAccess", "cuCtxDisablePeerAccess", (xs_cu_context peer))      \
    X(alloc, "cuMemAlloc_v2", "cuMemAlloc", (xs_cu_ptr * va, size_t bytes))                        \
    X(release_memory, "cuMemFree_v2", "cuMemFree", (xs_cu_ptr va))                                 \
    X(pitch, "cuMemAllocPitch_v2", "cuMemAllocPitch",                                              \
      (xs_cu_ptr * va, size_t * pitch, size_t width, size_t height, unsigned element))             \
    X(managed, "cuMemAllocManaged", "cuMemAllocManaged",                                           \
      (xs_cu_ptr * va, size_t bytes, unsigned flags))                                              \
    X(host_alloc, "cuMemHostAlloc", "cuMemHostAlloc", (void **p, size_t bytes, unsigned flags))    \
    X(host_free, "cuMemFreeHost", "cuMemFreeHost", (void *p))                                      \
    X(info, "cuMemGetInfo_v2", "cuMemGetInfo", (size_t * free_bytes, size_t * total_bytes))        \
    X(range, "cuMemGetAddressRange_v2", "cuMemGetAddressRange",                                    \
      (xs_cu_ptr * base, size_t * bytes, xs_cu_ptr va))                                            \
    X(attribute, "cuPointerGetAttribute", "cuPointerGetAttribute",                                 \
      (void *data, int attribute, xs_cu_ptr va))                                                   \
    X(attributes, "cuPointerGetAttributes", "cuPointerGetAttributes",                              \
      (unsigned n, int *attributes, void **data, xs_cu_ptr va))                                    \
    X(alloc_async, "cuMemAllocAsync", "cuMemAllocAsync",                                           \
      (xs_cu_ptr * va, size_t bytes, xs_cu_stream stream))                                         \
    X(free_async, "cuMemFreeAsync", "cuMemFreeAsync", (xs_cu_ptr va, xs_cu_stream stream))         \
    X(pool_alloc, "cuMemAllocFromPoolAsync", "cuMemAllocFromPoolAsync",                            \
      (xs_cu_ptr * va, size_t bytes, void *pool, xs_cu_stream stream))                             \
    X(default_pool, "cuDeviceGetDefaultMemPool", "cuDeviceGetDefaultMemPool",                      \
      (void **pool, xs_cu_device device))                                                          \
    X(set_bytes, "cuMemsetD8Async", "cuMemsetD8Async",                                             \
      (xs_cu_ptr va, unsigned char value, size_t n, xs_cu_stream stream))                          \
    X(to_host, "cuMemcpyDtoH_v2", "cuMemcpyDtoH", (void *to, xs_cu_ptr from, size_t bytes))        \
    X(mem_create, "cuMemCreate", "cuMemCreate",                                                    \
      (xs_cu_mem * mem, size_t bytes, const struct xs_cu_alloc_prop *prop,                         \
       unsigned long long flags))                                                                  \
    X(mem_release, "cuMemRelease", "cuMemRelease", (xs_cu_mem mem))                                \
    X(stream_create, "cuStreamCreate", "cuStreamCreate", (xs_cu_stream * stream, unsigned flags))  \
    X(stream_destroy, "cuStreamDestroy_v2", "cuStreamDestroy", (xs_cu_stream stream))              \
    X(stream_wait, "cuStreamSynchronize", "cuStreamSynchronize", (xs_cu_stream stream))            \
    X(begin_capture, "cuStreamBeginCapture_v2", "cuStreamBeginCapture",                            \
      (xs_cu_stream stream, int mode))                                                             \
    X(end_capture, "cuStreamEndCapture", "cuStreamEndCapture",                                     \
      (xs_cu_stream stream, xs_cu_graph * graph))                                                  \
    X(graph_destroy, "cuGraphDestroy", "cuGraphDestroy", (xs_cu_graph graph))                      \
    X(launch_graph, "cuGraphLaunch", "cuGraphLaunch", (xs_cu_graph_exec exec, xs_cu_stream stream))

/* X(result, name, parameters): the simulator's controls */
#define CONTROL_LIST(X)                                                                            \
    X(xs_cu_result, launch, (xs_cu_stream stream, xs_cu_ptr va, size_t bytes))                     \
    X(xs_cu_result, stream_manual, (xs_cu_stream stream, bool manual))                             \
    X(size_t, stream_advance, (xs_cu_stream stream, size_t n))                                     \
    X(uint64_t, calls, (const char *symbol))                                                       \
    X(size_t, violations, (void))                                                                  \
    X(const char *, last_violation, (void))                                                        \
    X(void, clear_violations, (void))                                                              \
    X(void, fail, (const char *symbol, uint64_t nth, xs_cu_result code))                           \
    X(void, live, (struct xs_sim_live * out))

static struct {
#define X(name, symbol, base, params) xs_cu_result(*name) params;
    PROGRAM_LIST(X)
#undef X
} cu;

static struct {
#define X(result, name, params) result(*name) params;
    CONTROL_LIST(X)
#undef X
} sim;

static enum xseg_result (*get_stats)(int device, struct xseg_stats *stats);

static inline void *driver_library(void)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    if (!library)
        FAIL("%s", dlerror());
    return library;
}

static inline void find_controls(void)
{
    void *library = driver_library();
#define X(result, name, params) *(void **)&sim.name = dlsym(library, "xs_sim_" #name);
    CONTROL_LIST(X)
#undef X
    *(void **)&get_stats = dlsym(RTLD_DEFAULT, "xseg_get_stats");
}

static inline void find_by_dlsym(void *handle)
{
#define X(name, symbol, base, params)                                                              \
    *(void **)&cu.name = dlsym(handle, symbol);                                                    \
    if (!cu.name)                                                                                  \
        FAIL("%s", dlerror());
    PROGRAM_LIST(X)
#undef X
}

static inline bool is_preloaded(void)
{
    return get_stats != NULL;
}

static inline struct xseg_stats stats(void)
{
    struct xseg_stats s = {.size = sizeof(s)};
    EQUAL(get_stats(0, &s), XSEG_OK);
    return s;
}

/* The driver by dlopen and dlsym, and a context of device 0. */
static inline xs_cu_context start(void)
{
    xs_cu_context context;
    find_controls();
    find_by_dlsym(driver_library());
    CU(cu.init(0));
    CU(cu.retain(&context, 0));
    CU(cu.set_current(context));
    return context;
}

static inline void no_violations(void)
{
    if (sim.violations())
        FAIL("%zu misuses, the last: %s", sim.violations(), sim.last_violation());
}

/* A program of several cases runs the one that is named. */
struct test_case {
    const char *name;
    void (*run)(void);
};

static inline int run_case(const struct test_case *cases, size_t n, int argc, char **argv)
{
    for (size_t i = 0; i < n && argc == 2; i++) {
        if (strcmp(argv[1], cases[i].name) == 0) {
            alarm(300); /* a call that never returns is a failure too */
            cases[i].run();
            return 0;
        }
    }
    for (size_t i = 0; i < n; i++)
        printf("%s\n", cases[i].name);
    return argc == 1 ? 0 : 2;
}

#endif
