/* The public C API: checks arguments and calls down, nothing else. */
#include "xseg/xseg.h"

#include <string.h>

#include "base/error.h"
#include "core/alloc.h"
#include "core/captures.h"
#include "core/peers.h"
#include "core/reading.h"
#include "core/runtime.h"
#include "core/trim.h"
#include "driver/driver.h"
#include "ipc/ipc_export.h"
#include "report/refusal.h"
#include "report/watch.h"

#define STRING(x)                         #x
#define VERSION_TEXT(major, minor, patch) STRING(major) "." STRING(minor) "." STRING(patch)

/* Here, since this file is in every program that allocates. */
__attribute__((constructor)) static void connect_floors(void)
{
    static const struct xs_watch_hooks watch = {xs_watch_begin, xs_watch_tick, xs_watch_end};
    xs_ladder_on_refusal(&xs_refusal_hooks);
    xs_runtime_watch(&watch);
}

/* Its page would be left behind; nothing of the driver is touched. */
__attribute__((destructor)) static void leave(void)
{
    if (xs_runtime_is_over()) /* another thread of the parent may hold the lock for ever */
        return;
    xs_watch_end();
    xs_runtime_leave();
}

/* ---- memory --------------------------------------------------------------------------------- */

static struct xs_cache *own_cache(int device)
{
    const struct xs_thread *t = xs_thread_current;
    return xs_likely(t && (unsigned)device < XS_DEVICE_LIMIT) ? t->cache[device] : NULL;
}

static void hand_over(void **ptr, const struct xs_block *block)
{
    *ptr = (void *)(uintptr_t)xs_block_address(block);
}

static enum xseg_result malloc_slow(void **ptr, size_t bytes, int device, xseg_stream stream)
{
    if (!bytes) {
        *ptr = NULL;
        return XSEG_OK;
    }
    struct xs_device *dev;
    enum xseg_result e = xs_runtime_device(device, &dev);
    if (e)
        return e;
    struct xs_cache *c = own_cache(dev->caps.ordinal);
    const struct xs_cache_stream *known = xs_alloc_known_stream(c, stream);
    struct xs_block *block = device == XSEG_CURRENT_DEVICE ? xs_alloc_hit(c, bytes, known) : NULL;
    if (!block)
        return xs_alloc(dev, bytes, stream, known != NULL, ptr);
    hand_over(ptr, block);
    return XSEG_OK;
}

enum xseg_result xseg_malloc(void **ptr, size_t bytes, int device, xseg_stream stream)
{
    if (xs_unlikely(!ptr))
        return xs_fail(XSEG_ERROR_INVALID_VALUE, "xseg_malloc: ptr is NULL");
    struct xs_cache *c = own_cache(device);
    const struct xs_cache_stream *known = xs_alloc_known_stream(c, stream);
    struct xs_block *block = xs_alloc_hit(c, bytes, known);
    if (xs_likely(block != NULL)) {
        hand_over(ptr, block);
        return XSEG_OK;
    }
    return known && bytes ? xs_alloc(c->device, bytes, stream, true, ptr)
                          : malloc_slow(ptr, bytes, device, stream);
}

/* After the driver is gone, and in a forked child, frees have nothing left to do. */
static enum xseg_result unknown_pointer(const char *call, const void *ptr)
{
    if (xs_runtime_is_over())
        return XSEG_OK;
    return xs_fail(XSEG_ERROR_UNKNOWN_POINTER,
                   "%s: %p is not the start of a live allocation of xseg", call, ptr);
}

enum xseg_result xseg_free(void *ptr)
{
    if (!ptr)
        return XSEG_OK;
    struct xs_block *block = xs_runtime_find(ptr);
    if (xs_unlikely(!block))
        return unknown_pointer("xseg_free", ptr);
    if (xs_likely(xs_free_hit(own_cache(block->device), block)))
        return XSEG_OK;
    return xs_free(block->heap->owner, block);
}

enum xseg_result xseg_free_async(void *ptr, xseg_stream stream)
{
    if (!ptr)
        return XSEG_OK;
    struct xs_block *block = xs_runtime_find(ptr);
    return block ? xs_free_on(block->heap->owner, block, stream)
                 : unknown_pointer("xseg_free_async", ptr);
}

static enum xseg_result belongs_to_parent(void)
{
    return xs_fail(XSEG_ERROR_SHUTDOWN, "the memory belongs to the parent process");
}

enum xseg_result xseg_record_stream(void *ptr, xseg_stream stream)
{
    struct xs_block *block = ptr ? xs_runtime_find(ptr) : NULL;
    if (xs_runtime_is_over())
        return belongs_to_parent();
    return block ? xs_alloc_record_stream(block->heap->owner, block, stream)
                 : unknown_pointer("xseg_record_stream", ptr);
}

enum xseg_result xseg_pointer_sizes(const void *ptr, size_t *requested, size_t *allocated)
{
    const struct xs_block *block = ptr ? xs_runtime_find(ptr) : NULL;
    if (xs_runtime_is_over())
        return belongs_to_parent();
    if (!block || xs_block_state_of(block) != XS_BLOCK_LIVE)
        return unknown_pointer("xseg_pointer_sizes", ptr);
    if (requested)
        *requested = block->requested;
    if (allocated)
        *allocated = xs_block_bytes(block);
    return XSEG_OK;
}

enum xseg_result xseg_trim(int device, size_t keep_bytes)
{
    if (device != XSEG_CURRENT_DEVICE) {
        struct xs_device *dev = xs_runtime_open_device(device);
        return dev ? xs_trim(dev, keep_bytes) : XSEG_OK;
    }
    enum xseg_result result = XSEG_OK;
    for (int i = 0; i < XS_DEVICE_LIMIT; i++) {
        struct xs_device *dev = xs_runtime_open_device(i);
        enum xseg_result e = dev ? xs_trim(dev, keep_bytes) : XSEG_OK;
        if (e)
            result = e;
    }
    return result;
}

enum xseg_result xseg_empty_cache(int device)
{
    return xseg_trim(device, 0);
}

static enum xseg_result driver_memory_info(struct xs_device *dev, size_t *free_bytes,
                                           size_t *total_bytes)
{
    struct xs_context_scope scope;
    enum xseg_result e = xs_context_enter(&dev->context, &scope);
    if (e)
        return e;
    e = xs_driver_result(xs_cu_mem_get_info(free_bytes, total_bytes));
    xs_context_leave(&scope);
    return e;
}

enum xseg_result xseg_memory_info(int device, size_t *free_bytes, size_t *total_bytes)
{
    struct xs_device *dev;
    size_t free_now, total;
    enum xseg_result e = xs_runtime_device(device, &dev);
    if (!e)
        e = driver_memory_info(dev, &free_now, &total);
    if (e)
        return e;
    struct xseg_stats s;
    xs_reading_take(dev, &s);
    /* Two readings, between which others may have given something back. */
    free_now = xs_min(free_now + s.frag_free_bytes + s.frag_idle_bytes + s.frag_cache_bytes, total);
    if (s.limit_bytes != UINT64_MAX) {
        total = xs_min(total, s.limit_bytes);
        size_t live = s.active_bytes.current;
        free_now = xs_min(free_now, s.limit_bytes > live ? s.limit_bytes - live : 0);
    }
    if (free_bytes)
        *free_bytes = free_now;
    if (total_bytes)
        *total_bytes = total;
    return XSEG_OK;
}

enum xseg_result xseg_peer_access(int device, int peer, int may_access)
{
    struct xs_device *dev;
    enum xseg_result e = xs_runtime_device(device, &dev);
    if (!e && peer == dev->caps.ordinal)
        e = xs_fail(XSEG_ERROR_INVALID_VALUE, "peer device %d: the device itself", peer);
    return e ? e : xs_peers_set(dev, peer, may_access);
}

/* ---- streams -------------------------------------------------------------------------------- */

enum xseg_result xseg_stream_register(int device, xseg_stream stream)
{
    struct xs_device *dev;
    enum xseg_result e = xs_runtime_device(device, &dev);
    return e ? e : xs_caches_trust_stream(dev, stream, true);
}

enum xseg_result xseg_stream_unregister(int device, xseg_stream stream)
{
    struct xs_device *dev;
    enum xseg_result e = xs_runtime_device(device, &dev);
    return e ? e : xs_device_close_stream(dev, stream);
}

enum xseg_result xseg_capture(int device, int begins)
{
    struct xs_device *dev;
    enum xseg_result e = xs_runtime_device(device, &dev);
    if (e || !begins)
        return e ? e : xs_captures_end(dev);
    xs_captures_begin(dev);
    return XSEG_OK;
}

/* ---- limits --------------------------------------------------------------------------------- */

enum xseg_result xseg_set_limit(int device, size_t bytes)
{
    struct xs_device *dev;
    enum xseg_result e = xs_runtime_device(device, &dev);
    if (e)
        return e;
    xs_lock_acquire(&dev->lock);
    dev->limit_bytes = bytes;
    xs_lock_release(&dev->lock);
    return XSEG_OK;
}

enum xseg_result xseg_get_limit(int device, size_t *bytes)
{
    if (!bytes)
        return xs_fail(XSEG_ERROR_INVALID_VALUE, "xseg_get_limit: bytes is NULL");
    struct xs_device *dev;
    enum xseg_result e = xs_runtime_device(device, &dev);
    if (e)
        return e;
    xs_lock_acquire(&dev->lock);
    *bytes = dev->limit_bytes;
    xs_lock_release(&dev->lock);
    return XSEG_OK;
}

enum xseg_result xseg_set_memory_fraction(int device, double fraction)
{
    if (!(fraction >= 0 && fraction <= 1))
        return xs_fail(XSEG_ERROR_INVALID_VALUE, "a memory fraction of %g: not between 0 and 1",
                       fraction);
    struct xs_device *dev;
    enum xseg_result e = xs_runtime_device(device, &dev);
    if (e)
        return e;
    size_t bytes = (size_t)(fraction * (double)dev->caps.total_bytes);
    return xseg_set_limit(dev->caps.ordinal, fraction == 1 ? SIZE_MAX : bytes);
}

/* ---- policy and statistics ------------------------------------------------------------------ */

enum xseg_result xseg_configure(const char *conf)
{
    if (!conf)
        return xs_fail(XSEG_ERROR_INVALID_VALUE, "xseg_configure: the string is NULL");
    return xs_runtime_configure(conf);
}

/* The device that a reading is about; it need not be open. */
static enum xseg_result reading_device(int device, int *ordinal, struct xs_device **dev)
{
    *ordinal = device;
    if (device == XSEG_CURRENT_DEVICE) {
        enum xseg_result e =
            xs_driver_is_loaded() ? xs_context_current_device(ordinal) : (*ordinal = 0, XSEG_OK);
        if (e)
            return e;
    }
    if (*ordinal < 0 || *ordinal >= XS_DEVICE_LIMIT)
        return xs_fail(XSEG_ERROR_NO_DEVICE, "device %d: not between 0 and %d", device,
                       XS_DEVICE_LIMIT - 1);
    *dev = xs_runtime_open_device(*ordinal);
    return XSEG_OK;
}

enum xseg_result xseg_get_stats(int device, struct xseg_stats *stats)
{
    if (!stats || stats->size < offsetof(struct xseg_stats, requested_bytes))
        return xs_fail(XSEG_ERROR_INVALID_VALUE, "xseg_get_stats: stats->size is not set");
    struct xs_device *dev = NULL;
    int ordinal;
    enum xseg_result e = reading_device(device, &ordinal, &dev);
    if (e)
        return e;
    struct xseg_stats full;
    memset(&full, 0, sizeof(full));
    full.device = ordinal;
    full.limit_bytes = UINT64_MAX;
    const struct xs_device *dead = xs_runtime_dead_device(ordinal);
    if (dev)
        xs_reading_take(dev, &full);
    else if (dead)
        full = dead->stats.now;
    full.size = sizeof(full);
    xs_stats_copy_out(&full, stats, stats->size);
    return XSEG_OK;
}

enum xseg_result xseg_reset_peaks(int device)
{
    struct xs_device *dev = NULL;
    int ordinal;
    enum xseg_result e = reading_device(device, &ordinal, &dev);
    if (!e && dev)
        xs_reading_reset_peaks(dev);
    return e;
}

enum xseg_result xseg_reset_totals(int device)
{
    struct xs_device *dev = NULL;
    int ordinal;
    enum xseg_result e = reading_device(device, &ordinal, &dev);
    if (!e && dev)
        xs_reading_reset_totals(dev);
    return e;
}

/* ---- the library ---------------------------------------------------------------------------- */

const char *xseg_last_error(void)
{
    return xs_error_text();
}

const char *xseg_result_name(enum xseg_result result)
{
    static const char *const names[] = {
        [XSEG_OK] = "XSEG_OK",
        [XSEG_ERROR_INVALID_VALUE] = "XSEG_ERROR_INVALID_VALUE",
        [XSEG_ERROR_OUT_OF_MEMORY] = "XSEG_ERROR_OUT_OF_MEMORY",
        [XSEG_ERROR_HOST_MEMORY] = "XSEG_ERROR_HOST_MEMORY",
        [XSEG_ERROR_NO_DRIVER] = "XSEG_ERROR_NO_DRIVER",
        [XSEG_ERROR_NO_DEVICE] = "XSEG_ERROR_NO_DEVICE",
        [XSEG_ERROR_DRIVER] = "XSEG_ERROR_DRIVER",
        [XSEG_ERROR_CONFIG] = "XSEG_ERROR_CONFIG",
        [XSEG_ERROR_UNKNOWN_POINTER] = "XSEG_ERROR_UNKNOWN_POINTER",
        [XSEG_ERROR_NOT_SUPPORTED] = "XSEG_ERROR_NOT_SUPPORTED",
        [XSEG_ERROR_IO] = "XSEG_ERROR_IO",
        [XSEG_ERROR_SHUTDOWN] = "XSEG_ERROR_SHUTDOWN",
    };
    return (size_t)result < XS_COUNT_OF(names) ? names[result] : "unknown result";
}

const char *xseg_version(void)
{
    return VERSION_TEXT(XSEG_VERSION_MAJOR, XSEG_VERSION_MINOR, XSEG_VERSION_PATCH);
}

enum xseg_result xseg_use_driver_library(const char *path)
{
    if (!path)
        return xs_fail(XSEG_ERROR_INVALID_VALUE, "xseg_use_driver_library: path is NULL");
    return xs_runtime_use_driver(path);
}

enum xseg_result xseg_shutdown(void)
{
    /* Or another block at the same address would be taken for the one that was shared. */
    for (int i = 0; i < XS_DEVICE_LIMIT; i++)
        xs_ipc_forget_device(i);
    return xs_runtime_shutdown();
}
