/*
 * One device end to end: its memory, its heaps, its counters.
 *
 * Three locks. HEAP guards blocks, extents and counters; it is held for moments and never across a driver
 * call. GROWTH is held by the one thread that changes mappings; it plans under HEAP, calls the driver
 * without it, and publishes under it, so that a request which finds a free block never waits for the
 * driver. CACHES guards the list of the threads' block caches, in front of all this.
 */
#ifndef XS_CORE_DEVICE_H
#define XS_CORE_DEVICE_H

#include "base/addr_map.h"
#include "base/base.h"
#include "base/lock.h"
#include "base/meta.h"
#include "cache/cache.h"
#include "core/pool.h"
#include "driver/caps.h"
#include "driver/context.h"
#include "heap/heap.h"
#include "policy/policy.h"
#include "stats/history.h"
#include "stats/stats.h"
#include "vmm/extent.h"
#include "vmm/fence.h"
#include "vmm/stream.h"

struct xs_device {
    /* Set when the device is opened, never changed. */
    struct xs_caps caps;
    struct xs_context context;

    struct xs_cache_shared cache_shared;
    struct xs_depot *depot;  /* has its own locks */
    struct xs_fences fences; /* has its own lock */
    _Atomic unsigned poison; /* the policy's, for paths that take no lock */
    _Atomic int captures;    /* announced by the caller and not ended */
    _Atomic bool recording; /* a context-wide event, so no capture may begin: see core/captures.h */
    _Atomic uint32_t tick_ms; /* when those who watch were last told */

    struct xs_lock caches_lock; /* rank CACHES */
    struct xs_list caches; /* every struct xs_cache; guarded by caches_lock and lock: see cache.h */

    struct xs_lock growth;
    /* Guarded by growth. */
    bool no_alias; /* the driver has refused to map an extent twice */
    size_t
        waived_bytes; /* by so much more reserved may exceed slack: waiting for the GPU was in vain */
    size_t
        max_fresh_bytes; /* largest extent that the driver still gives: SIZE_MAX until it refuses one, 0: none */

    struct xs_lock lock; /* rank HEAP */
    /* Guarded by lock. */
    struct xs_addr_map addresses; /* LIVE and CACHED blocks; lookups take no lock */
    struct xs_policy policy;
    size_t limit_bytes; /* SIZE_MAX: none */
    bool no_vmm;        /* the device has none, or address space cannot be had: classic mode */
    struct xs_streams streams;
    struct xs_extents extents;
    struct xs_slab records; /* blocks of all heaps */
    struct xs_pool main;    /* the default pool */
    struct xs_list pools;   /* it and the private ones, by index */
    struct xs_list routes;  /* see core/route.h */
    struct xs_slab pool_records;
    struct xs_slab route_records;
    uint32_t pools_made;
    struct xs_list waiting; /* WAITING blocks, oldest first */
    struct xs_list stale;   /* STALE blocks, oldest first */
    struct xs_slab uses;    /* struct xs_use */
    size_t out_bytes;       /* of LIVE, CACHED and WAITING blocks: what no heap holds */
    uint64_t went_out;      /* bytes that heaps gave out since nothing was reserved */
    uint64_t came_back;     /* ... and got back */
    size_t most_out;        /* the most out_bytes has been since memory was last given up */
    struct xs_stats stats;
    struct xs_history history;
};

enum xseg_result xs_device_open(struct xs_device *dev, int ordinal, const struct xs_policy *policy);
/* All work of the GPU is done; everything goes back to the driver. */
void xs_device_close(struct xs_device *dev);

/* The block that begins at the address, whatever its state; `sure`: also if another thread is changing the
 * map, at the price of the lock. */
struct xs_block *xs_device_find(struct xs_device *dev, const void *ptr, bool sure);

/* A policy for new requests; the limit of the policy replaces the device's where it names one. */
void xs_device_apply(struct xs_device *dev, const struct xs_policy *policy);

/* Closes the epochs of all streams whose handles are sure to be alive, each by its own event. Under GROWTH, the
 * context is current. Errors: HOST_MEMORY, DRIVER. */
enum xseg_result xs_device_record_fences(struct xs_device *dev);

/* Closes the epoch for all streams by one event, unless that could invalidate a capture. A capture that has
 * neither been announced nor been seen cannot be ruled out, so this is for last resorts. The context is
 * current. Errors: NOT_SUPPORTED (a capture may be open, or the driver has no such events), DRIVER. */
enum xseg_result xs_device_record_context_fence(struct xs_device *dev);

/* The stream is about to be destroyed: it is no longer vouched for, its cached blocks go to the heap, and its own fence is recorded on it
 * as long as it lives. */
enum xseg_result xs_device_close_stream(struct xs_device *dev, xs_cu_stream handle);

/* Blocks whose fences have passed become idle, in all heaps; `except` as in xs_heap_settle(). Takes HEAP. */
void xs_device_settle(struct xs_device *dev, const struct xs_stream *except);

/* Empties the caches and makes idle what the GPU has passed by now, on all streams. Takes GROWTH. */
enum xseg_result xs_device_settle_all(struct xs_device *dev);
/* The same under GROWTH with the context current. */
enum xseg_result xs_device_settle_in_context(struct xs_device *dev);

/* Address space of one segment where the policy names none. */
size_t xs_device_default_reserve(const struct xs_device *dev);

/* By how much reserved memory may exceed what was live at most, for want of what is still in use by the GPU or pinned: a share of it, or
 * a few blocks. */
#define XS_LEAST_SLACK (32 * XS_MIB)

static inline size_t xs_device_slack(const struct xs_device *dev, size_t live)
{
    return xs_max((size_t)((double)live * dev->policy.slack), XS_LEAST_SLACK);
}

#endif
