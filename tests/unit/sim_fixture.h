/*
 * What the tests of the lower rooms share: the simulator (XSEG_TEST_SIM) loaded through the library's own
 * door, its controls, and the few entries that the library itself never calls.
 */
#ifndef XS_TESTS_SIM_FIXTURE_H
#define XS_TESTS_SIM_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <dlfcn.h>

#include "base/error.h"
#include "driver/driver.h"
#include "driver/driver_fault.h"
#include "sim/sim_abi.h"
#include "sim/sim_control.h"

/* X(result, name, parameters): xs_sim_<name> */
#define SIM_CONTROL_LIST(X)                                                                        \
    X(xs_cu_result, launch, (xs_cu_stream stream, xs_cu_ptr va, size_t bytes))                     \
    X(xs_cu_result, stream_manual, (xs_cu_stream stream, bool manual))                             \
    X(size_t, stream_advance, (xs_cu_stream stream, size_t n))                                     \
    X(size_t, stream_advance_id, (unsigned long long id, size_t n))                                \
    X(uint64_t, calls, (const char *symbol))                                                       \
    X(size_t, violations, (void))                                                                  \
    X(const char *, last_violation, (void))                                                        \
    X(void, clear_violations, (void))                                                              \
    X(void, live, (struct xs_sim_live * out))                                                      \
    X(uint64_t, digest, (void))

/* X(parameters, name): entries of the driver */
#define SIM_ENTRY_LIST(X)                                                                          \
    X((xs_cu_stream * stream, unsigned flags), cuStreamCreate)                                     \
    X((xs_cu_stream stream), cuStreamDestroy_v2)                                                   \
    X((xs_cu_stream stream), cuStreamSynchronize)                                                  \
    X((xs_cu_stream stream, int mode), cuStreamBeginCapture_v2)                                    \
    X((xs_cu_stream stream, xs_cu_graph * graph), cuStreamEndCapture)                              \
    X((xs_cu_graph graph), cuGraphDestroy)                                                         \
    X((xs_cu_context context), cuCtxSetCurrent)                                                    \
    X((xs_cu_context * context, unsigned flags, xs_cu_device device), cuCtxCreate_v2)              \
    X((xs_cu_context context), cuCtxDestroy_v2)

static struct {
#define X(result, name, params) result(*name) params;
    SIM_CONTROL_LIST(X)
#undef X
} sim;

static struct {
#define X(params, name) xs_cu_result(*name) params;
    SIM_ENTRY_LIST(X)
#undef X
} cu;

static xs_cu_context primary;

#define GRANULE (2 * XS_MIB)
#define ALL     SIZE_MAX
#define ok(e)   assert_int_equal((e), 0)

static inline void *sim_symbol(void *library, const char *prefix, const char *name)
{
    char text[96];
    snprintf(text, sizeof(text), "%s%s", prefix, name);
    void *found = dlsym(library, text);
    if (!found)
        fprintf(stderr, "%s\n", dlerror());
    return found ? found : (abort(), NULL);
}

static inline const char *sim_path(void)
{
    const char *path = getenv("XSEG_TEST_SIM");
    return path ? path : "libcuda.so.1";
}

static inline void load_simulator(void)
{
    if (xs_driver_load(sim_path())) {
        fprintf(stderr, "XSEG_TEST_SIM: %s\n", xs_error_text());
        exit(1);
    }
    void *library = dlopen(sim_path(), RTLD_NOW | RTLD_NOLOAD);
#define X(result, name, params) *(void **)&sim.name = sim_symbol(library, "xs_sim_", #name);
    SIM_CONTROL_LIST(X)
#undef X
#define X(params, name) *(void **)&cu.name = sim_symbol(library, "", #name);
    SIM_ENTRY_LIST(X)
#undef X
}

/* Group set-up: device 0's primary context is current. */
static inline int start_simulator(void **state)
{
    (void)state;
    load_simulator();
    return xs_cu_primary_ctx_retain(&primary, 0) || cu.cuCtxSetCurrent(primary);
}

/* Test tear-down: the driver was not misused and holds nothing but contexts. */
static inline int driver_is_clean(void **state)
{
    (void)state;
    struct xs_sim_live live;
    xs_fault_clear();
    sim.live(&live);
    size_t held = live.handles + live.mappings + live.reservations + live.allocs + live.events +
                  live.streams + live.graphs + live.host_ranges + live.used_bytes;
    if (held || sim.violations())
        fprintf(stderr, "the test left %zu objects; %zu misuses, the last: %s\n", held,
                sim.violations(), sim.last_violation());
    bool clean = !held && !sim.violations();
    sim.clear_violations();
    return !clean;
}

#define simulator_test(f) cmocka_unit_test_teardown(f, driver_is_clean)

static inline size_t live_events(void)
{
    struct xs_sim_live live;
    sim.live(&live);
    return live.events;
}

static inline xs_cu_stream new_manual_stream(void)
{
    xs_cu_stream stream;
    ok(cu.cuStreamCreate(&stream, XS_CU_STREAM_NON_BLOCKING));
    ok(sim.stream_manual(stream, true));
    return stream;
}

/* Work that only takes time. */
static inline void queue_work(xs_cu_stream stream, unsigned items)
{
    while (items--)
        ok(sim.launch(stream, 0, 0));
}

/* The nth call of the entry from now on fails, once. */
static inline void fail_call(enum xs_call call, uint64_t nth, xs_cu_result code)
{
    struct xs_fault fault = {.call = call, .nth = nth, .repeat = 1, .code = code};
    assert_true(xs_fault_add(&fault));
}

/* A small generator, so that a failure can be had again: xorshift64. */
static inline uint64_t next_random(uint64_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed;
}

static inline size_t random_below(uint64_t *seed, size_t n)
{
    return (size_t)(next_random(seed) % n);
}

#endif
