#include "core/runtime.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "core/caches.h"
#include "driver/driver.h"

static struct {
    /* Atomic: a device is published once it is open, and taken back only by shutdown. */
    _Atomic(struct xs_device *) device[XS_DEVICE_LIMIT];
    _Atomic bool started;
    _Atomic int highest;                /* ordinal of an open device */
    _Atomic bool over;                  /* in a forked child */
    const struct xs_watch_hooks *hooks; /* NULL: nobody watches */
    struct xs_device *dead[XS_DEVICE_LIMIT];
    struct xs_lock lock; /* rank START */
    /* Guarded by lock. */
    struct xs_policy policy;
} runtime = {.lock = XS_LOCK_INITIALIZER(XS_RANK_START)};

/* ---- fork ----------------------------------------------------------------------------------- */

/* CUDA cannot be used in a child of a process that has used it. The child lets go of everything without a
 * lock, since another thread of the parent may have held any, and without touching the driver. */
static void after_fork_in_child(void)
{
    if (!atomic_load(&runtime.started))
        return;
    for (int i = 0; i < XS_DEVICE_LIMIT; i++)
        runtime.dead[i] = atomic_exchange(&runtime.device[i], NULL);
    if (xs_thread_current)
        memset(xs_thread_current->cache, 0, sizeof(xs_thread_current->cache));
    atomic_store(&runtime.over, true);
    atomic_store(&runtime.started, false);
}

bool xs_runtime_is_over(void)
{
    return atomic_load(&runtime.over);
}

const struct xs_device *xs_runtime_dead_device(int ordinal)
{
    return ordinal >= 0 && ordinal < XS_DEVICE_LIMIT ? runtime.dead[ordinal] : NULL;
}

static enum xseg_result forked(void)
{
    return xs_fail(XSEG_ERROR_SHUTDOWN, "CUDA was in use when this process was forked");
}

/* ---- those who watch ------------------------------------------------------------------------- */

void xs_runtime_watch(const struct xs_watch_hooks *hooks)
{
    runtime.hooks = hooks;
}

/* One thread wins; the others go on. */
void xs_runtime_tick(struct xs_device *dev, uint32_t now_ms)
{
    uint32_t last = atomic_load_explicit(&dev->tick_ms, memory_order_relaxed);
    if (runtime.hooks && atomic_compare_exchange_strong(&dev->tick_ms, &last, now_ms))
        runtime.hooks->tick(dev);
}

/* ---- starting ------------------------------------------------------------------------------- */

static void log_report(const struct xs_conf_report *report)
{
    char line[XS_CONF_LINE_BYTES];
    for (size_t i = 0; xs_conf_report_line(report, i, line); i++)
        xs_log("%s", line);
}

/* A bad string must not stop a program that runs under a preloaded library, unless it says strict. */
static enum xseg_result read_policy(struct xs_conf_report *report)
{
    enum xseg_result e = xs_policy_from_environment(&runtime.policy, report);
    return e && report->strict ? e : XSEG_OK;
}

static void watch_forks(void)
{
    pthread_atfork(NULL, NULL, after_fork_in_child);
}

/* No device is closed meanwhile: a thread's end is no call, so nobody knows when it is over. */
static void thread_exit(struct xs_thread *t)
{
    if (xs_runtime_is_over())
        return;
    xs_lock_acquire(&runtime.lock);
    xs_caches_thread_exit(t);
    xs_lock_release(&runtime.lock);
}

/* What reading the policy had to say goes to the report: it is logged once no lock is held. `driver`: what loading it came
 * to, while no lock of ours was held (driver/driver.c). */
static enum xseg_result start_locked(enum xseg_result driver, struct xs_conf_report *report)
{
    if (atomic_load_explicit(&runtime.started, memory_order_relaxed))
        return XSEG_OK;
    enum xseg_result e = read_policy(report);
    if (!e)
        e = driver;
    if (e)
        return e;
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, watch_forks);
    xs_thread_on_exit(thread_exit);
    atomic_store_explicit(&runtime.started, true, memory_order_release);
    return XSEG_OK;
}

static enum xseg_result open_locked(int ordinal)
{
    if (atomic_load_explicit(&runtime.device[ordinal], memory_order_relaxed))
        return XSEG_OK;
    struct xs_device *dev = xs_meta_map(sizeof(*dev));
    if (!dev)
        return xs_fail(XSEG_ERROR_HOST_MEMORY, "no host memory for device %d", ordinal);
    enum xseg_result e = xs_device_open(dev, ordinal, &runtime.policy);
    if (e) {
        xs_meta_unmap(dev, sizeof(*dev));
        return e;
    }
    atomic_store(&dev->tick_ms, xs_clock_coarse_ms()); /* those who watch are told of the opening */
    atomic_store_explicit(&runtime.device[ordinal], dev, memory_order_release);
    if (ordinal > atomic_load(&runtime.highest))
        atomic_store(&runtime.highest, ordinal);
    return XSEG_OK;
}

static enum xseg_result open_device_locked(int *ordinal, enum xseg_result driver,
                                           struct xs_conf_report *report)
{
    enum xseg_result e = start_locked(driver, report);
    if (!e && *ordinal == XSEG_CURRENT_DEVICE)
        e = xs_context_current_device(ordinal);
    if (!e && (*ordinal < 0 || *ordinal >= XS_DEVICE_LIMIT))
        e = xs_fail(XSEG_ERROR_NO_DEVICE, "device %d: not between 0 and %d", *ordinal,
                    XS_DEVICE_LIMIT - 1);
    return e ? e : open_locked(*ordinal);
}

static enum xseg_result open_device(int ordinal)
{
    if (xs_runtime_is_over())
        return forked();
    struct xs_conf_report report;
    memset(&report, 0, sizeof(report));
    enum xseg_result driver = xs_driver_load(NULL);
    xs_lock_acquire(&runtime.lock);
    bool was_open = ordinal >= 0 && xs_runtime_open_device(ordinal);
    enum xseg_result e = open_device_locked(&ordinal, driver, &report);
    xs_lock_release(&runtime.lock);
    log_report(&report);
    if (!e && !was_open && runtime.hooks)
        runtime.hooks->opened(xs_runtime_open_device(ordinal));
    return e;
}

enum xseg_result xs_runtime_start(void)
{
    if (xs_runtime_is_over())
        return forked();
    struct xs_conf_report report;
    memset(&report, 0, sizeof(report));
    enum xseg_result driver = xs_driver_load(NULL);
    xs_lock_acquire(&runtime.lock);
    enum xseg_result e = start_locked(driver, &report);
    xs_lock_release(&runtime.lock);
    log_report(&report);
    return e;
}

struct xs_device *xs_runtime_open_device(int ordinal)
{
    if (ordinal < 0 || ordinal >= XS_DEVICE_LIMIT)
        return NULL;
    return atomic_load_explicit(&runtime.device[ordinal], memory_order_acquire);
}

enum xseg_result xs_runtime_device(int ordinal, struct xs_device **dev)
{
    enum xseg_result e = XSEG_OK;
    if (ordinal == XSEG_CURRENT_DEVICE && atomic_load(&runtime.started))
        e = xs_context_current_device(&ordinal);
    *dev = e ? NULL : xs_runtime_open_device(ordinal);
    if (e || xs_likely(*dev != NULL))
        return e;
    e = open_device(ordinal);
    if (!e && ordinal == XSEG_CURRENT_DEVICE)
        e = xs_context_current_device(&ordinal);
    if (e)
        return e;
    *dev = xs_runtime_open_device(ordinal);
    xs_caches_current(
        *dev); /* who opens a device will use it: the first allocation finds a cache */
    return XSEG_OK;
}

/* Each device has its map. Nobody asks for certainty before all have been asked without. */
static __attribute__((noinline)) struct xs_block *find_anywhere(const void *ptr)
{
    int highest = atomic_load_explicit(&runtime.highest, memory_order_acquire);
    for (int sure = 0; sure <= 1; sure++) {
        for (int i = 0; i <= highest; i++) {
            struct xs_device *dev = xs_runtime_open_device(i);
            struct xs_block *block = dev ? xs_device_find(dev, ptr, sure) : NULL;
            if (block)
                return block;
        }
    }
    return NULL;
}

struct xs_block *xs_runtime_find(const void *ptr)
{
    const struct xs_device *first = atomic_load_explicit(&runtime.device[0], memory_order_acquire);
    struct xs_addr_node *node =
        xs_likely(first != NULL) ? xs_addr_map_find(&first->addresses, (uintptr_t)ptr) : NULL;
    return xs_likely(node != NULL) ? XS_CONTAINER_OF(node, struct xs_block, addr)
                                   : find_anywhere(ptr);
}

/* ---- policy and driver ---------------------------------------------------------------------- */

static enum xseg_result configure_locked(const char *conf, struct xs_conf_report *report)
{
    struct xs_policy policy = runtime.policy;
    enum xseg_result e = xs_policy_apply(&policy, conf, "xseg_configure", report);
    if (e)
        return e;
    bool in_use = false;
    for (int i = 0; i < XS_DEVICE_LIMIT; i++) {
        struct xs_device *dev = xs_runtime_open_device(i);
        if (dev)
            xs_device_apply(dev, &policy);
        in_use |= dev != NULL;
    }
    if (in_use)
        xs_policy_note_late(&runtime.policy, &policy, report);
    runtime.policy = policy;
    return XSEG_OK;
}

enum xseg_result xs_runtime_configure(const char *conf)
{
    if (xs_runtime_is_over())
        return forked();
    struct xs_conf_report start, report;
    memset(&start, 0, sizeof(start));
    memset(&report, 0, sizeof(report));
    enum xseg_result driver = xs_driver_load(NULL);
    xs_lock_acquire(&runtime.lock);
    enum xseg_result e = start_locked(driver, &start);
    if (!e)
        e = configure_locked(conf, &report);
    xs_lock_release(&runtime.lock);
    log_report(&start);
    log_report(&report);
    return e;
}

enum xseg_result xs_runtime_use_driver(const char *path)
{
    return xs_runtime_is_over() ? forked() : xs_driver_load(path);
}

/* Report R24: who sets the variable too late would wonder for long. Under no lock: this is the end. */
void xs_runtime_leave(void)
{
    if (atomic_load(&runtime.started) && xs_policy_environment_changed(&runtime.policy))
        xs_log("%s has changed since it was read: without effect", xs_policy_variables[0]);
}

/* ---- the end -------------------------------------------------------------------------------- */

static enum xseg_result wait_for_gpu(struct xs_device *dev)
{
    struct xs_context_scope scope;
    enum xseg_result e = xs_context_enter(&dev->context, &scope);
    if (e)
        return e;
    e = xs_driver_result(xs_cu_ctx_synchronize());
    xs_context_leave(&scope);
    return e;
}

/* `anyway`: also where the GPU cannot be waited for, since a kernel has failed. */
static enum xseg_result close_locked(int ordinal, bool anyway)
{
    struct xs_device *dev = xs_runtime_open_device(ordinal);
    enum xseg_result e = dev ? wait_for_gpu(dev) : XSEG_OK;
    if (!dev || (e && !anyway))
        return e;
    xs_device_close(dev);
    atomic_store(&runtime.device[ordinal], NULL);
    xs_meta_unmap(dev, sizeof(*dev));
    return XSEG_OK;
}

void xs_runtime_close_device(int ordinal)
{
    if (xs_runtime_is_over() || !xs_runtime_open_device(ordinal))
        return;
    xs_lock_acquire(&runtime.lock);
    close_locked(ordinal, true);
    xs_lock_release(&runtime.lock);
}

enum xseg_result xs_runtime_shutdown(void)
{
    if (xs_runtime_is_over())
        return XSEG_OK;
    enum xseg_result e = XSEG_OK;
    if (runtime.hooks)
        runtime.hooks->closed();
    xs_lock_acquire(&runtime.lock);
    for (int i = 0; i < XS_DEVICE_LIMIT && !e; i++)
        e = close_locked(i, false);
    if (!e)
        atomic_store(&runtime.started, false);
    xs_lock_release(&runtime.lock);
    return e;
}
