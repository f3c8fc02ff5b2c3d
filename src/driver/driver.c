#include "driver/driver.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/lock.h"
#include "base/thread.h"
#include "driver/driver_fault.h"

enum need { CORE, VMM, EXTRA };

struct entries {
#define X(need, name, symbol, params, ...) xs_cu_result(*name) params;
    XS_DRIVER_LIST(X)
#undef X
};

static const struct {
    const char *symbol;
    enum need need;
    size_t offset;
} rows[] = {
#define X(need, name, symbol, ...) {symbol, need, offsetof(struct entries, name)},
    XS_DRIVER_LIST(X)
#undef X
};

/* Set by xs_driver_load() under the lock and published by `loaded`; constant afterwards. */
static struct {
    struct entries fn;
    struct xs_lock lock;
    _Atomic bool loaded;
    bool has_vmm;
    xs_cu_result (*error_name)(xs_cu_result code, const char **name);
    uint64_t (*sim_cost_ns)(void); /* only the simulator exports it */
    char path[PATH_MAX];
    _Atomic uint64_t calls[XS_CALL_COUNT];
    double tick_ns;
    _Atomic uint64_t wall_ticks;
} driver = {.lock = XS_LOCK_INITIALIZER(XS_RANK_LOAD)};

/* ---- loading -------------------------------------------------------------------------------- */

static void *entry_at(const struct entries *fn, size_t offset)
{
    void *p;
    memcpy(&p, (const char *)fn + offset, sizeof(p));
    return p;
}

static enum xseg_result fill_table(void *library, const char *path, struct entries *fn,
                                   bool *has_vmm)
{
    *has_vmm = true;
    for (size_t i = 0; i < XS_COUNT_OF(rows); i++) {
        void *p = dlsym(library, rows[i].symbol);
        memcpy((char *)fn + rows[i].offset, &p, sizeof(p));
        if (p)
            continue;
        if (rows[i].need == CORE)
            return xs_fail(XSEG_ERROR_NO_DRIVER, "%s has no entry %s", path, rows[i].symbol);
        if (rows[i].need == VMM)
            *has_vmm = false;
    }
    return XSEG_OK;
}

static enum xseg_result load_locked(const char *path)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return xs_fail(XSEG_ERROR_NO_DRIVER, "the CUDA driver cannot be loaded: %s", dlerror());
    struct entries fn;
    bool has_vmm;
    enum xseg_result e = fill_table(library, path, &fn, &has_vmm);
    if (e)
        goto close;
    struct xs_clock_mark before = xs_clock_mark();
    xs_cu_result code = fn.init(0);
    if (code) {
        e = xs_fail(code == XS_CUDA_ERROR_NO_DEVICE ? XSEG_ERROR_NO_DEVICE : XSEG_ERROR_NO_DRIVER,
                    "%s: cuInit(0) returned %d", path, code);
        goto close;
    }
    driver.fn = fn;
    driver.has_vmm = has_vmm;
    driver.tick_ns = xs_clock_tick_ns(before);
    *(void **)&driver.error_name = dlsym(library, "cuGetErrorName");
    *(void **)&driver.sim_cost_ns = dlsym(library, "xs_sim_cost_ns");
    snprintf(driver.path, sizeof(driver.path), "%s", path);
    atomic_store_explicit(&driver.loaded, true, memory_order_release);
    return XSEG_OK;
close:
    dlclose(library);
    return e;
}

enum xseg_result xs_driver_load(const char *path)
{
    xs_lock_acquire(&driver.lock);
    enum xseg_result e = XSEG_OK;
    if (!xs_driver_is_loaded())
        e = load_locked(path ? path : XS_DRIVER_DEFAULT_LIBRARY);
    else if (path && strcmp(path, driver.path) != 0)
        e = xs_fail(XSEG_ERROR_INVALID_VALUE, "driver %s is already loaded, so %s cannot be",
                    driver.path, path);
    xs_lock_release(&driver.lock);
    return e;
}

bool xs_driver_is_loaded(void)
{
    return atomic_load_explicit(&driver.loaded, memory_order_acquire);
}

bool xs_driver_has_vmm(void)
{
    return driver.has_vmm;
}

bool xs_driver_has(enum xs_call call)
{
    return entry_at(&driver.fn, rows[call].offset) != NULL;
}

const char *xs_driver_library(void)
{
    return driver.path;
}

bool xs_driver_is_simulator(void)
{
    return driver.sim_cost_ns != NULL;
}

/* ---- errors --------------------------------------------------------------------------------- */

static struct xs_driver_error *error_record(void)
{
    struct xs_thread *t = xs_thread_self();
    return t ? xs_thread_slot(t, XS_THREAD_SLOT_DRIVER_ERROR, sizeof(struct xs_driver_error))
             : NULL;
}

const struct xs_driver_error *xs_driver_last_error(void)
{
    static const struct xs_driver_error none;
    const struct xs_driver_error *record = error_record();
    return record ? record : &none;
}

void xs_driver_clear_error(void)
{
    struct xs_driver_error *record =
        xs_thread_current ? xs_thread_current->slot[XS_THREAD_SLOT_DRIVER_ERROR].data : NULL;
    if (record)
        record->code = XS_CUDA_SUCCESS;
}

static void record_error(enum xs_call call, xs_cu_result code, const char *arguments)
{
    struct xs_driver_error *record = error_record();
    if (!record)
        return;
    record->code = code;
    record->call = call;
    snprintf(record->arguments, sizeof(record->arguments), "%s", arguments);
    xs_fail(xs_driver_result(code), "%s(%s) failed: %s", rows[call].symbol, arguments,
            xs_driver_code_name(code));
}

const char *xs_driver_call_name(enum xs_call call)
{
    return call < XS_CALL_COUNT ? rows[call].symbol : "no call";
}

const char *xs_driver_code_name(xs_cu_result code)
{
    const char *name = NULL;
    if (driver.error_name)
        driver.error_name(code, &name);
    return name ? name : "unknown CUDA error";
}

enum xseg_result xs_driver_result(xs_cu_result code)
{
    switch (code) {
    case XS_CUDA_SUCCESS:
        return XSEG_OK;
    case XS_CUDA_ERROR_OUT_OF_MEMORY:
        return XSEG_ERROR_OUT_OF_MEMORY;
    case XS_CUDA_ERROR_DEINITIALIZED:
        return XSEG_ERROR_SHUTDOWN;
    case XS_CUDA_ERROR_NO_DEVICE:
    case XS_CUDA_ERROR_INVALID_DEVICE:
        return XSEG_ERROR_NO_DEVICE;
    case XS_CUDA_ERROR_NOT_SUPPORTED:
        return XSEG_ERROR_NOT_SUPPORTED;
    default:
        return XSEG_ERROR_DRIVER;
    }
}

/* ---- the wrappers --------------------------------------------------------------------------- */

static uint64_t begin_call(enum xs_call call)
{
    xs_assert_driver_call_allowed();
    atomic_fetch_add_explicit(&driver.calls[call], 1, memory_order_relaxed);
    return xs_clock_ticks();
}

static void end_call(uint64_t start)
{
    atomic_fetch_add_explicit(&driver.wall_ticks, xs_clock_ticks() - start, memory_order_relaxed);
}

/* What fault rules with a lower bound on the size look at. */
static size_t size_argument(enum xs_call call, const char *arguments)
{
    if (call != XS_CALL_mem_create && call != XS_CALL_mem_reserve && call != XS_CALL_mem_alloc)
        return SIZE_MAX;
    size_t bytes = SIZE_MAX;
    void *out;
    return sscanf(arguments, "%p, %zu", &out, &bytes) == 2 ? bytes : SIZE_MAX;
}

static xs_cu_result injected_fault(enum xs_call call, const char *arguments)
{
    return xs_fault_check(call, size_argument(call, arguments));
}

/* NOT_READY is an answer, not a failure. */
#define X(need, name, symbol, params, args, ...)                                                   \
    xs_cu_result xs_cu_##name params                                                               \
    {                                                                                              \
        char arguments[128];                                                                       \
        uint64_t start = begin_call(XS_CALL_##name);                                               \
        xs_cu_result code = XS_CUDA_SUCCESS;                                                       \
        if (xs_unlikely(atomic_load_explicit(&xs_fault_armed, memory_order_relaxed))) {            \
            snprintf(arguments, sizeof(arguments), __VA_ARGS__);                                   \
            code = injected_fault(XS_CALL_##name, arguments);                                      \
        }                                                                                          \
        if (code == XS_CUDA_SUCCESS)                                                               \
            code = driver.fn.name ? driver.fn.name args : XS_CUDA_ERROR_NOT_SUPPORTED;             \
        end_call(start);                                                                           \
        if (xs_unlikely(code != XS_CUDA_SUCCESS && code != XS_CUDA_ERROR_NOT_READY)) {             \
            snprintf(arguments, sizeof(arguments), __VA_ARGS__);                                   \
            record_error(XS_CALL_##name, code, arguments);                                         \
        }                                                                                          \
        return code;                                                                               \
    }
XS_DRIVER_LIST(X)
#undef X

bool xs_driver_stream_has_id(xs_cu_stream stream, uint64_t id)
{
    unsigned long long now;
    int capture;
    if (!driver.fn.stream_get_id)
        return true;
    if (driver.fn.stream_is_capturing(stream, &capture) != XS_CUDA_SUCCESS)
        return false;
    if (capture != XS_CU_CAPTURE_STATUS_NONE)
        return id == XS_DRIVER_CAPTURING;
    return driver.fn.stream_get_id(stream, &now) == XS_CUDA_SUCCESS && now == id;
}

uint64_t xs_driver_calls(enum xs_call call)
{
    return atomic_load_explicit(&driver.calls[call], memory_order_relaxed);
}

uint64_t xs_driver_wall_ns(void)
{
    return (uint64_t)((double)atomic_load_explicit(&driver.wall_ticks, memory_order_relaxed) *
                      driver.tick_ns);
}

uint64_t xs_driver_cost_ns(void)
{
    return driver.sim_cost_ns ? driver.sim_cost_ns() : xs_driver_wall_ns();
}
