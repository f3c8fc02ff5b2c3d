/*
 * Proves a device: the invariants D1 to D10 of docs/invariants.md, and those of each of its heaps.
 *
 * Never aborts: the caller decides. For tests, in every build. Takes GROWTH, then HEAP, so that no growth
 * is half done.
 */
#ifndef XS_CORE_DEVICE_CHECK_H
#define XS_CORE_DEVICE_CHECK_H

#include "core/device.h"
#include "heap/heap_check.h"

/* False: broken, and *finding says what. `quiet`: no other call on the device is under way, so the counts
 * of references must be exact; otherwise they may be higher. Not with backend:cudaMalloc unless quiet. */
bool xs_device_check(struct xs_device *dev, bool quiet, struct xs_finding *finding);

#endif
