/* libcuda by dlopen, as little of it as stress.c needs, and checks that end the process. */
#ifndef XS_TEST_STRESS_DRIVER_H
#define XS_TEST_STRESS_DRIVER_H

#include <dlfcn.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include "xseg/xseg.h"

typedef struct CUstream_st *stream;
typedef struct CUevent_st *event;
typedef struct CUfunc_st *function;
typedef struct CUmod_st *module;
typedef struct CUctx_st *context;
typedef uint64_t device_ptr;

#define NEEDED(X)                                                                                  \
    X(cuInit, (unsigned flags))                                                                    \
    X(cuDevicePrimaryCtxRetain, (context * ctx, int device))                                       \
    X(cuCtxSetCurrent, (context ctx))                                                              \
    X(cuCtxSynchronize, (void))                                                                    \
    X(cuStreamCreate, (stream * s, unsigned flags))                                                \
    X(cuStreamDestroy_v2, (stream s))                                                              \
    X(cuStreamSynchronize, (stream s))                                                             \
    X(cuStreamWaitEvent, (stream s, event e, unsigned flags))                                      \
    X(cuEventCreate, (event * e, unsigned flags))                                                  \
    X(cuEventRecord, (event e, stream s))                                                          \
    X(cuEventDestroy_v2, (event e))                                                                \
    X(cuMemAlloc_v2, (device_ptr * p, size_t bytes))                                               \
    X(cuMemFree_v2, (device_ptr p))                                                                \
    X(cuMemsetD8Async, (device_ptr p, unsigned char value, size_t n, stream s))                    \
    X(cuMemcpyDtoH_v2, (void *to, device_ptr from, size_t bytes))                                  \
    X(cuLaunchHostFunc, (stream s, void (*fn)(void *), void *arg))                                 \
    X(cuGetErrorName, (int error, const char **name))

#define KERNELS(X)                                                                                 \
    X(cuModuleLoadData, (module * m, const void *image))                                           \
    X(cuModuleGetFunction, (function * f, module m, const char *name))                             \
    X(cuLaunchKernel,                                                                              \
      (function f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,   \
       unsigned shared, stream s, void **params, void **extra))

static struct {
#define X(name, params) int(*name) params;
    NEEDED(X) KERNELS(X)
#undef X
} cu;

enum { NON_BLOCKING = 1, NO_TIMING = 2 };

static inline _Noreturn void fail(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fprintf(stderr, "stress: ");
    vfprintf(stderr, format, args);
    fprintf(stderr, "\n");
    va_end(args);
    _exit(1); /* other threads are at work */
}

static inline void must_work(int code, const char *call)
{
    const char *name = NULL;
    if (!code)
        return;
    cu.cuGetErrorName(code, &name);
    fail("%s: error %d, %s", call, code, name ? name : "unknown");
}

#define CU(call) must_work(cu.call, #call)

static inline void must(enum xseg_result e, const char *call)
{
    if (e)
        fail("%s: %s: %s", call, xseg_result_name(e), xseg_last_error());
}

#define XSEG(call) must(call, #call)

/* False: no such library. */
static inline bool load_driver(const char *path)
{
    void *library = dlopen(path ? path : "libcuda.so.1", RTLD_NOW);
    if (!library)
        return false;
#define X(name, params) *(void **)&cu.name = dlsym(library, #name);
    NEEDED(X)
    KERNELS(X)
#undef X
#define X(name, params)                                                                            \
    if (!cu.name)                                                                                  \
        fail("the driver has no %s", #name);
    NEEDED(X)
#undef X
    return true;
}

#endif
