/*
 * xseg over the simulator, for the model, fault and report tests: the simulator's entry points and
 * controls by name, checks that end the process with the place and the reason, and what must hold
 * between any two calls.
 *
 * The driver is loaded once in a process, and the simulator reads its settings then. A test that
 * needs settings of its own runs in a child: see tests/reports/report_fixture.h.
 */
#ifndef XS_TEST_XSEG_FIXTURE_H
#define XS_TEST_XSEG_FIXTURE_H

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "core/device_check.h"
#include "core/runtime.h"
#include "sim/sim_abi.h"
#include "sim/sim_control.h"
#include "sim/sim_entry_list.h"
#include "xseg/xseg.h"

#define XT_CONTROL_LIST(X)                                                                         \
    X(calls, uint64_t, (const char *symbol))                                                       \
    X(launch, xs_cu_result, (xs_cu_stream stream, xs_cu_ptr va, size_t bytes))                     \
    X(stream_manual, xs_cu_result, (xs_cu_stream stream, bool manual))                             \
    X(stream_advance, size_t, (xs_cu_stream stream, size_t n))                                     \
    X(physical, uint64_t, (xs_cu_ptr va, size_t * bytes))                                          \
    X(reach_after, void, (unsigned queries))                                                       \
    X(queued, size_t, (void))                                                                      \
    X(violations, size_t, (void))                                                                  \
    X(last_violation, const char *, (void))                                                        \
    X(clear_violations, void, (void))                                                              \
    X(live, void, (struct xs_sim_live * out))                                                      \
    X(digest, uint64_t, (void))

struct xt_driver {
#define X(symbol, need, params, args) xs_cu_result(*symbol) params;
    XS_SIM_ENTRY_LIST(X)
#undef X
};

struct xt_control {
#define X(name, result, params) result(*name) params;
    XT_CONTROL_LIST(X)
#undef X
};

static struct xt_driver cu;
static struct xt_control sim;

/* What the program was doing, for messages. */
static char xt_where[128];

/* ---- checks ----------------------------------------------------------------------------------- */

#define XT_FAIL(...)                                                                               \
    do {                                                                                           \
        fprintf(stderr, "%s:%d: %s: ", __FILE__, __LINE__, xt_where);                              \
        fprintf(stderr, __VA_ARGS__);                                                              \
        fprintf(stderr, "\n");                                                                     \
        exit(1);                                                                                   \
    } while (0)

#define XT_CHECK(condition)                                                                        \
    do {                                                                                           \
        if (!(condition))                                                                          \
            XT_FAIL("%s", #condition);                                                             \
    } while (0)

#define XT_EQUAL(a, b)                                                                             \
    do {                                                                                           \
        const uint64_t a_ = (uint64_t)(a), b_ = (uint64_t)(b);                                     \
        if (a_ != b_)                                                                              \
            XT_FAIL("%s is %llu, %s is %llu", #a, (unsigned long long)a_, #b,                      \
                    (unsigned long long)b_);                                                       \
    } while (0)

#define XT_AT_MOST(a, b)                                                                           \
    do {                                                                                           \
        const uint64_t a_ = (uint64_t)(a), b_ = (uint64_t)(b);                                     \
        if (a_ > b_)                                                                               \
            XT_FAIL("%s is %llu, above %s which is %llu", #a, (unsigned long long)a_, #b,          \
                    (unsigned long long)b_);                                                       \
    } while (0)

/* A call of xseg's that succeeds. */
#define XT_OK(call)                                                                                \
    do {                                                                                           \
        const enum xseg_result e_ = (call);                                                        \
        if (e_)                                                                                    \
            XT_FAIL("%s: %s: %s", #call, xseg_result_name(e_), xseg_last_error());                 \
    } while (0)

/* A call of the simulated driver that succeeds. */
#define XT_CU(call) XT_EQUAL(call, XS_CUDA_SUCCESS)

/* ---- the simulator ---------------------------------------------------------------------------- */

static inline void *xt_symbol(void *library, const char *prefix, const char *name)
{
    char text[96];
    snprintf(text, sizeof(text), "%s%s", prefix, name);
    void *found = dlsym(library, text);
    if (!found)
        XT_FAIL("%s: %s", text, dlerror());
    return found;
}

static inline void xt_load_simulator(void)
{
    const char *path = getenv("XSEG_TEST_SIM");
    if (!path)
        XT_FAIL("XSEG_TEST_SIM does not name the simulator");
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        XT_FAIL("XSEG_TEST_SIM: %s", dlerror());
#define X(symbol, need, params, args) *(void **)&cu.symbol = xt_symbol(library, "", #symbol);
    XS_SIM_ENTRY_LIST(X)
#undef X
#define X(name, result, params) *(void **)&sim.name = xt_symbol(library, "xs_sim_", #name);
    XT_CONTROL_LIST(X)
#undef X
    XT_OK(xseg_use_driver_library(path));
}

static inline struct xs_sim_live xt_live(void)
{
    struct xs_sim_live live;
    sim.live(&live);
    return live;
}

/* The primary context of a device, current; xseg itself needs none. */
static inline void xt_make_context(int device)
{
    xs_cu_context context;
    XT_CU(cu.cuDevicePrimaryCtxRetain(&context, device));
    XT_CU(cu.cuCtxSetCurrent(context));
}

static inline void xt_drop_context(int device)
{
    XT_CU(cu.cuCtxSetCurrent(NULL));
    XT_CU(cu.cuDevicePrimaryCtxRelease_v2(device));
}

static inline bool xt_has_context(void)
{
    xs_cu_context context = NULL;
    XT_CU(cu.cuCtxGetCurrent(&context));
    return context != NULL;
}

static inline xs_cu_stream xt_new_stream(void)
{
    xs_cu_stream stream;
    XT_CU(cu.cuStreamCreate(&stream, XS_CU_STREAM_NON_BLOCKING));
    return stream;
}

/* ---- xseg ------------------------------------------------------------------------------------- */

static inline struct xseg_stats xt_stats(int device)
{
    struct xseg_stats s = {.size = sizeof(s)};
    XT_OK(xseg_get_stats(device, &s));
    return s;
}

static inline size_t xt_reserved(void)
{
    return xt_stats(0).reserved_bytes.current;
}

/* Driver calls that create, map, open, unmap or release memory. */
static inline uint64_t xt_driver_ops(void)
{
    const struct xseg_stats s = xt_stats(0);
    return s.driver_create + s.driver_release + s.driver_map + s.driver_unmap + s.driver_set_access;
}

static inline void *xt_try(size_t bytes, xs_cu_stream stream)
{
    void *p = NULL;
    const enum xseg_result e = xseg_malloc(&p, bytes, 0, stream);
    if (e && p)
        XT_FAIL("%s, but a pointer was written", xseg_result_name(e));
    if (e && e != XSEG_ERROR_OUT_OF_MEMORY)
        XT_FAIL("%s: %s", xseg_result_name(e), xseg_last_error());
    return p;
}

static inline void *xt_alloc_on(size_t bytes, xs_cu_stream stream)
{
    void *p = NULL;
    XT_OK(xseg_malloc(&p, bytes, 0, stream));
    XT_CHECK(p != NULL);
    return p;
}

static inline void *xt_alloc(size_t bytes)
{
    return xt_alloc_on(bytes, NULL);
}

static inline void xt_free(void *p)
{
    XT_OK(xseg_free(p));
}

static inline size_t xt_block_bytes(const void *p)
{
    size_t bytes;
    XT_OK(xseg_pointer_sizes(p, NULL, &bytes));
    return bytes;
}

/* ---- what must hold between calls ------------------------------------------------------------- */

static inline void xt_add_cause(uint64_t *sum, const char *name, uint64_t bytes, uint64_t reserved)
{
    if (strncmp(name, "frag_", 5) != 0)
        return;
    if (bytes > reserved)
        XT_FAIL("%s is %llu: more than reserved", name, (unsigned long long)bytes);
    *sum += bytes;
}

/* current, peak and totals of a gauge agree. Totals may have been reset. */
static inline void xt_check_gauge(const char *name, const struct xseg_gauge *gauge)
{
    if (gauge->current > gauge->peak || gauge->current > SIZE_MAX / 2)
        XT_FAIL("%s: current %llu, peak %llu", name, (unsigned long long)gauge->current,
                (unsigned long long)gauge->peak);
}

static inline void xt_check_stats(const struct xseg_stats *s)
{
    uint64_t causes = 0;
#define XT_GAUGE(name, unit, text) xt_check_gauge(#name, &s->name);
#define XT_VALUE(name, unit, text) xt_add_cause(&causes, #name, s->name, s->reserved_bytes.current);
#define XT_COUNTER(name, unit, text)
    XSEG_STATS_LIST(XT_GAUGE, XT_VALUE, XT_COUNTER)
#undef XT_GAUGE
#undef XT_VALUE
#undef XT_COUNTER
    XT_EQUAL(s->reserved_bytes.current, s->active_bytes.current + s->cached_bytes.current);
    XT_AT_MOST(s->requested_bytes.current, s->allocated_bytes.current);
    XT_AT_MOST(s->allocated_bytes.current, s->active_bytes.current);
    XT_AT_MOST(s->active_bytes.peak, s->reserved_bytes.peak);
    XT_AT_MOST(s->allocated_bytes.peak, s->reserved_bytes.peak);
    XT_EQUAL(causes, s->reserved_bytes.current - s->allocated_bytes.current);
}

/* What the driver neither unmaps nor opens, failing again and again, stays BUSY for good (D10). */
static bool xt_may_be_stuck;

/* The numbered invariants of the library's own records. */
static inline void xt_check_device(int device)
{
    struct xs_device *dev = xs_runtime_open_device(device);
    struct xs_finding finding;
    if (dev && !xs_device_check(dev, true, &finding) &&
        !(xt_may_be_stuck && !strncmp(finding.text, "D10", 3)))
        XT_FAIL("device %d: %s", device, finding.text);
}

static inline void xt_check_violations(void)
{
    if (sim.violations())
        XT_FAIL("the driver was misused %zu times, the last: %s", sim.violations(),
                sim.last_violation());
}

/* All of it, on the devices 0 .. n-1; what the driver holds is what is reported, to the byte. */
static inline void xt_check_devices(int n)
{
    uint64_t reserved = 0, extents = 0;
    for (int i = 0; i < n; i++) {
        const struct xseg_stats s = xt_stats(i);
        xt_check_stats(&s);
        xt_check_device(i);
        reserved += s.reserved_bytes.current;
        extents += s.extents.current;
    }
    const struct xs_sim_live live = xt_live();
    XT_EQUAL(live.handle_bytes + live.alloc_bytes, reserved);
    XT_EQUAL(live.handles, extents);
    xt_check_violations();
}

static inline void xt_check(void)
{
    xt_check_devices(1);
}

/* Nothing is left in the driver, and it was never misused. */
static inline void xt_check_nothing_left(void)
{
    const struct xs_sim_live live = xt_live();
    xt_check_violations();
    XT_EQUAL(live.handles, 0);
    XT_EQUAL(live.mappings, 0);
    XT_EQUAL(live.reservations, 0);
    XT_EQUAL(live.allocs, 0);
    XT_EQUAL(live.events, 0);
    XT_EQUAL(live.contexts, 0);
    XT_EQUAL(live.used_bytes, 0);
}

#endif
