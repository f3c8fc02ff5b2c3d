/*
 * One device end to end: its memory, its heaps, its counters.
 *
 * Two locks. HEAP guards blocks, extents and counters; it is held for moments and never across a driver
 * call. GROWTH is held by the one thread that changes mappings; it plans under HEAP, calls the driver
 * without it, and publishes under it, so that a request which finds a free block never waits for the
 * driver.
 */
#ifndef XS_CORE_DEVICE_H
#define XS_CORE_DEVICE_H

#include "base/addr_map.h"
#include "base/base.h"
#include "base/lock.h"
#include "base/meta.h"
#include "driver/caps.h"
#include "driver/context.h"
#include "heap/heap.h"
#include "policy/policy.h"
#include "stats/stats.h"
#include "vmm/extent.h"
#include "vmm/fence.h"
#include "vmm/stream.h"

/* Classic heaps: by block size as PyTorch has it, and one for backend:cudaMalloc, which caches nothing. */
enum { XS_CLASSIC_SMALL, XS_CLASSIC_LARGE, XS_CLASSIC_UNCACHED, XS_CLASSIC_COUNT };

struct xs_device {
    /* Set when the device is opened, never changed. */
    struct xs_caps caps;
    struct xs_context context;
    struct xs_addr_map *addresses; /* the runtime's, shared by all devices */

    struct xs_fences fences; /* has its own lock */

    struct xs_lock growth;
    /* Guarded by growth. */
    size_t max_fresh_bytes; /* largest extent that the driver still gives; SIZE_MAX until it refuses one */

    struct xs_lock lock; /* rank HEAP */
    /* Guarded by lock. */
    struct xs_policy policy;
    size_t limit_bytes; /* SIZE_MAX: none */
    bool no_vmm;        /* the device has none, or address space cannot be had: classic mode */
    struct xs_streams streams;
    struct xs_extents extents;
    struct xs_slab records; /* blocks of all heaps */
    struct xs_heap expandable;
    struct xs_heap classic[XS_CLASSIC_COUNT];
    struct xs_stats stats;
};

enum xseg_result xs_device_open(struct xs_device *dev, int ordinal, const struct xs_policy *policy,
                                struct xs_addr_map *addresses);
/* All work of the GPU is done; everything goes back to the driver. */
void xs_device_close(struct xs_device *dev);

/* A policy for new requests; the limit of the policy replaces the device's where it names one. */
void xs_device_apply(struct xs_device *dev, const struct xs_policy *policy);

/* Blocks whose fences have passed become idle, in all heaps; `except` as in xs_heap_settle(). Takes HEAP. */
void xs_device_settle(struct xs_device *dev, const struct xs_stream *except);

/* Address space of one segment where the policy names none. */
size_t xs_device_default_reserve(const struct xs_device *dev);

/* One reading of all statistics. */
void xs_device_read_stats(struct xs_device *dev, struct xseg_stats *out);
void xs_device_reset_totals(struct xs_device *dev);
void xs_device_reset_peaks(struct xs_device *dev);

#endif
