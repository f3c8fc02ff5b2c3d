/* The simulator as its tests see it: every entry point of XSEG_TEST_SIM, resolved by name. */
#ifndef XS_TEST_SIM_DRIVER_H
#define XS_TEST_SIM_DRIVER_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/base.h"
#include "sim/sim_abi.h"
#include "sim/sim_control.h"
#include "sim/sim_entry_list.h"

#define CONTROL_LIST(X)                                                                            \
    X(cost_ns, uint64_t, (void))                                                                   \
    X(calls, uint64_t, (const char *symbol))                                                       \
    X(launch, xs_cu_result, (xs_cu_stream stream, xs_cu_ptr va, size_t bytes))                     \
    X(stream_manual, xs_cu_result, (xs_cu_stream stream, bool manual))                             \
    X(stream_advance, size_t, (xs_cu_stream stream, size_t n))                                     \
    X(stream_advance_id, size_t, (unsigned long long id, size_t n))                                \
    X(violations, size_t, (void))                                                                  \
    X(last_violation, const char *, (void))                                                        \
    X(clear_violations, void, (void))                                                              \
    X(live, void, (struct xs_sim_live * out))                                                      \
    X(digest, uint64_t, (void))

static struct {
#define X(symbol, need, params, args) xs_cu_result(*symbol) params;
    XS_SIM_ENTRY_LIST(X)
#undef X
} cu;

static struct {
#define X(name, result, params) result(*name) params;
    CONTROL_LIST(X)
#undef X
} sim;

static xs_cu_context primary;

#define GRANULE     (2 * XS_MIB)
#define ok(call)    assert_int_equal((call), XS_CUDA_SUCCESS)
#define fails(r, c) assert_int_equal((c), (r))

/* The call is refused with this code, and counted as one misuse. */
#define refused(result, call)                                                                      \
    do {                                                                                           \
        const size_t before_ = sim.violations();                                                   \
        assert_int_equal((call), (result));                                                        \
        assert_int_equal(sim.violations(), before_ + 1);                                           \
    } while (0)

static inline void *symbol_of(void *lib, const char *prefix, const char *name)
{
    char text[96];
    snprintf(text, sizeof(text), "%s%s", prefix, name);
    void *found = dlsym(lib, text);
    if (!found) {
        fprintf(stderr, "%s: %s\n", text, dlerror());
        exit(1);
    }
    return found;
}

static inline void load_simulator(void)
{
    const char *path = getenv("XSEG_TEST_SIM");
    void *lib = dlopen(path ? path : "libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!lib) {
        fprintf(stderr, "XSEG_TEST_SIM: %s\n", dlerror());
        exit(1);
    }
#define X(symbol, need, params, args) *(void **)&cu.symbol = symbol_of(lib, "", #symbol);
    XS_SIM_ENTRY_LIST(X)
#undef X
#define X(name, result, params) *(void **)&sim.name = symbol_of(lib, "xs_sim_", #name);
    CONTROL_LIST(X)
#undef X
}

/* cuInit and the primary context of device 0, current. */
static inline int start_driver(void **state)
{
    (void)state;
    if (cu.cuInit(0) || cu.cuDevicePrimaryCtxRetain(&primary, 0))
        return 1;
    return cu.cuCtxSetCurrent(primary);
}

/* Every test leaves the driver as it found it: nothing held, no misuse left uncounted. */
static inline int check_clean(void **state)
{
    (void)state;
    struct xs_sim_live live;
    sim.live(&live);
    sim.clear_violations();
    const size_t held = live.handles + live.mappings + live.reservations + live.allocs +
                        live.events + live.streams + live.graphs + live.host_ranges +
                        live.used_bytes;
    if (held)
        fprintf(stderr, "the test left %zu objects in the simulator\n", held);
    return held != 0;
}

static inline struct xs_cu_alloc_prop device_memory(int device)
{
    return (struct xs_cu_alloc_prop){.type = XS_CU_ALLOCATION_PINNED,
                                     .location = {XS_CU_LOCATION_DEVICE, device}};
}

static inline xs_cu_mem create(size_t bytes)
{
    const struct xs_cu_alloc_prop prop = device_memory(0);
    xs_cu_mem mem;
    ok(cu.cuMemCreate(&mem, bytes, &prop, 0));
    return mem;
}

static inline xs_cu_ptr reserve(size_t bytes)
{
    xs_cu_ptr va;
    ok(cu.cuMemAddressReserve(&va, bytes, 0, 0, 0));
    return va;
}

static inline xs_cu_result set_access(xs_cu_ptr va, size_t bytes, int flags)
{
    const struct xs_cu_access_desc desc = {{XS_CU_LOCATION_DEVICE, 0}, flags};
    return cu.cuMemSetAccess(va, bytes, &desc, 1);
}

/*
 * A reservation of this size with one handle mapped over all of it; the handle is released already.
 */
static inline xs_cu_ptr map_new(size_t bytes)
{
    const xs_cu_ptr va = reserve(bytes);
    const xs_cu_mem mem = create(bytes);
    ok(cu.cuMemMap(va, bytes, 0, mem, 0));
    ok(cu.cuMemRelease(mem));
    ok(set_access(va, bytes, XS_CU_ACCESS_READWRITE));
    return va;
}

static inline void unmap_all(xs_cu_ptr va, size_t bytes)
{
    ok(cu.cuMemUnmap(va, bytes));
    ok(cu.cuMemAddressFree(va, bytes));
}

static inline unsigned char *host(xs_cu_ptr va)
{
    return (unsigned char *)(uintptr_t)va;
}

/* Runs `body` in a child, so that it can have its own settings; true if it returned 0. */
static inline bool passes_in_child(int (*body)(void))
{
    int status;
    fflush(NULL);
    const pid_t pid = fork();
    if (pid == 0)
        _exit(body() != 0);
    return pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) &&
           WEXITSTATUS(status) == 0;
}

#define CHILD_CHECK(condition)                                                                     \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                        \
            return 1;                                                                              \
        }                                                                                          \
    } while (0)

#endif
