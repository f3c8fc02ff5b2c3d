/*
 * Proves a device: the invariants D1 to D12 of docs/invariants.md, and those of each of its heaps.
 *
 * Never aborts: the caller decides. For tests, in every build. Takes GROWTH, CACHES and HEAP, so that no
 * growth is half done.
 */
#ifndef XS_CORE_DEVICE_CHECK_H
#define XS_CORE_DEVICE_CHECK_H

#include "core/device.h"
#include "heap/heap_check.h"

/* False: broken, and *finding says what. `quiet`: no other call on the device is under way; otherwise what
 * hits and requests on their way change is left out. Not with backend:cudaMalloc unless quiet. */
bool xs_device_check(struct xs_device *dev, bool quiet, struct xs_finding *finding);

#endif
