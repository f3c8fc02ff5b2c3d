/*
 * Which other devices may access a device's memory: what is mapped now, and what will be. Off by default, as it
 * is for cudaMalloc before cudaDeviceEnablePeerAccess.
 */
#ifndef XS_CORE_PEERS_H
#define XS_CORE_PEERS_H

#include "core/device.h"

/* Device `peer` may access the memory, or no longer. Nothing has changed after an error. Takes GROWTH.
 * Errors: DRIVER, NO_DEVICE, NOT_SUPPORTED (the pair has no peer access), INVALID_VALUE (an ordinal of 64 or more). */
enum xseg_result xs_peers_set(struct xs_device *dev, int peer, bool may_access);

#endif
