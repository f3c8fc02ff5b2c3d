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

/* An entry's type by its name: fn_mem_map. */
#define X(need, name, symbol, params, ...) typedef xs_cu_result fn_##name params;
XS_DRIVER_LIST(X)
#undef X

/* All that a call writes and reads lies in one line: the driver leaves little else in the caches. */
struct entry {
    _Alignas(32) void *address; /* NULL: not in this driver */
    _Atomic uint64_t calls;
    _Atomic uint64_t wall_ticks; /* host time spent in it */
};

static const struct {
    const char *symbol;
    enum need need;
} rows[] = {
#define X(need, name, symbol, ...) {symbol, need},
    XS_DRIVER_LIST(X)
#undef X
};

/* Set under the lock and published by `loaded`; constant afterwards. */
static struct {
    struct entry entry[XS_CALL_COUNT];
    struct xs_lock lock;
    _Atomic bool loaded;
    bool has_vmm;
    xs_cu_result (*error_name)(xs_cu_result code, const char **name);
    uint64_t (*sim_cost_ns)(void); /* only the simulator exports it */
    char path[PATH_MAX];
    struct xs_clock_mark mark;
    _Atomic double tick_ns; /* 0: nobody has asked */
} driver = {.lock = XS_LOCK_INITIALIZER(XS_RANK_LOAD)};

/* ---- loading -------------------------------------------------------------------------------- */

#define FUNCTION(name) ((fn_##name *)driver.entry[XS_CALL_##name].address)

/* What a library has, before it is used. */
struct found {
    void *handle;
    void *address[XS_CALL_COUNT];
    bool has_vmm;
    struct xs_clock_mark mark;
    void *error_name;
    void *sim_cost_ns;
};

static enum xseg_result fill_table(struct found *found, const char *path)
{
    found->has_vmm = true;
    for (size_t i = 0; i < XS_COUNT_OF(rows); i++) {
        found->address[i] = dlsym(found->handle, rows[i].symbol);
        if (found->address[i])
            continue;
        if (rows[i].need == CORE)
            return xs_fail(XSEG_ERROR_NO_DRIVER, "%s has no entry %s", path, rows[i].symbol);
        if (rows[i].need == VMM)
            found->has_vmm = false;
    }
    found->error_name = dlsym(found->handle, "cuGetErrorName");
    found->sim_cost_ns = dlsym(found->handle, "xs_sim_cost_ns");
    return XSEG_OK;
}

static enum xseg_result initialize(struct found *found, const char *path)
{
    found->mark = xs_clock_mark();
    xs_cu_result code = ((fn_init *)found->address[XS_CALL_init])(0);
    if (!code)
        return XSEG_OK;
    return xs_fail(code == XS_CUDA_ERROR_NO_DEVICE ? XSEG_ERROR_NO_DEVICE : XSEG_ERROR_NO_DRIVER,
                   "%s: cuInit(0) returned %d", path, code);
}

/* Takes the loader's lock, which a thread may hold that comes here from the constructor of a library: so no lock of
 * ours is held. */
static enum xseg_result find(struct found *found, const char *path)
{
    found->handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!found->handle)
        return xs_fail(XSEG_ERROR_NO_DRIVER, "the CUDA driver cannot be loaded: %s", dlerror());
    enum xseg_result e = fill_table(found, path);
    if (!e)
        e = initialize(found, path);
    if (e)
        dlclose(found->handle);
    return e;
}

/* False: another thread was first. */
static bool publish(const struct found *found, const char *path)
{
    xs_lock_acquire(&driver.lock);
    bool first = !xs_driver_is_loaded();
    if (first) {
        for (size_t i = 0; i < XS_CALL_COUNT; i++)
            driver.entry[i].address = found->address[i];
        driver.has_vmm = found->has_vmm;
        driver.mark = found->mark;
        *(void **)&driver.error_name = found->error_name;
        *(void **)&driver.sim_cost_ns = found->sim_cost_ns;
        snprintf(driver.path, sizeof(driver.path), "%s", path);
        atomic_store_explicit(&driver.loaded, true, memory_order_release);
    }
    xs_lock_release(&driver.lock);
    return first;
}

enum xseg_result xs_driver_load(const char *path)
{
    struct found found = {.handle = NULL};
    const char *file = path ? path : XS_DRIVER_DEFAULT_LIBRARY;
    if (!xs_driver_is_loaded()) {
        enum xseg_result e = find(&found, file);
        if (e)
            return e;
        if (!publish(&found, file))
            dlclose(found.handle);
    }
    if (path && strcmp(path, driver.path) != 0)
        return xs_fail(XSEG_ERROR_INVALID_VALUE, "driver %s is already loaded, so %s cannot be",
                       driver.path, path);
    return XSEG_OK;
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
    return driver.entry[call].address != NULL;
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

/* Kept out of the wrappers, whose frames stay small by it. */
#define COLD __attribute__((noinline, cold))

/* Where the failed call's arguments are to be written; NULL: nowhere. */
static COLD char *begin_error(enum xs_call call, xs_cu_result code)
{
    struct xs_driver_error *record = error_record();
    if (!record)
        return NULL;
    record->code = code;
    record->call = call;
    return record->arguments;
}

static COLD void end_error(const char *arguments, enum xs_call call, xs_cu_result code)
{
    if (arguments)
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
    if (xs_debug)
        xs_assert_driver_call_allowed();
    atomic_fetch_add_explicit(&driver.entry[call].calls, 1, memory_order_relaxed);
    return xs_clock_ticks();
}

static void end_call(enum xs_call call, uint64_t start)
{
    atomic_fetch_add_explicit(&driver.entry[call].wall_ticks, xs_clock_ticks() - start,
                              memory_order_relaxed);
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

/* Tests only: whether the call is to fail. */
#define X(need, name, symbol, params, args, ...)                                                   \
    static COLD xs_cu_result injected_##name params                                                \
    {                                                                                              \
        char arguments[XS_ARGUMENTS_BYTES];                                                        \
        snprintf(arguments, sizeof(arguments), __VA_ARGS__);                                       \
        return xs_fault_check(XS_CALL_##name, size_argument(XS_CALL_##name, arguments));           \
    }
XS_DRIVER_LIST(X)
#undef X

/* NOT_READY is an answer, not a failure. */
#define X(need, name, symbol, params, args, ...)                                                   \
    xs_cu_result xs_cu_##name params                                                               \
    {                                                                                              \
        uint64_t start = begin_call(XS_CALL_##name);                                               \
        xs_cu_result code = XS_CUDA_SUCCESS;                                                       \
        if (xs_unlikely(atomic_load_explicit(&xs_fault_armed, memory_order_relaxed)))              \
            code = injected_##name args;                                                           \
        if (code == XS_CUDA_SUCCESS)                                                               \
            code = FUNCTION(name) ? FUNCTION(name) args : XS_CUDA_ERROR_NOT_SUPPORTED;             \
        end_call(XS_CALL_##name, start);                                                           \
        if (xs_unlikely(code != XS_CUDA_SUCCESS && code != XS_CUDA_ERROR_NOT_READY)) {             \
            char *arguments = begin_error(XS_CALL_##name, code);                                   \
            if (arguments)                                                                         \
                snprintf(arguments, XS_ARGUMENTS_BYTES, __VA_ARGS__);                              \
            end_error(arguments, XS_CALL_##name, code);                                            \
        }                                                                                          \
        return code;                                                                               \
    }
XS_DRIVER_LIST(X)
#undef X

bool xs_driver_stream_has_id(xs_cu_stream stream, uint64_t id)
{
    unsigned long long now;
    int capture;
    if (!FUNCTION(stream_get_id))
        return true;
    if (FUNCTION(stream_is_capturing)(stream, &capture) != XS_CUDA_SUCCESS)
        return false;
    if (capture != XS_CU_CAPTURE_STATUS_NONE)
        return id == XS_DRIVER_CAPTURING;
    return FUNCTION(stream_get_id)(stream, &now) == XS_CUDA_SUCCESS && now == id;
}

uint64_t xs_driver_calls(enum xs_call call)
{
    return atomic_load_explicit(&driver.entry[call].calls, memory_order_relaxed);
}

/* By what has passed since the driver was loaded. The first answer stands, so that no reading is below an earlier one. */
static double tick_ns(void)
{
    double none = 0, ns = atomic_load(&driver.tick_ns);
    if (ns != 0 || !xs_driver_is_loaded())
        return ns;
    ns = xs_clock_tick_ns(driver.mark);
    return atomic_compare_exchange_strong(&driver.tick_ns, &none, ns) ? ns : none;
}

uint64_t xs_driver_wall_ns(void)
{
    uint64_t ticks = 0;
    for (size_t i = 0; i < XS_CALL_COUNT; i++)
        ticks += atomic_load_explicit(&driver.entry[i].wall_ticks, memory_order_relaxed);
    return (uint64_t)((double)ticks * tick_ns());
}

uint64_t xs_driver_cost_ns(void)
{
    return driver.sim_cost_ns ? driver.sim_cost_ns() : xs_driver_wall_ns();
}
