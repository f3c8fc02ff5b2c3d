/*
 * Aliases: an extent that the GPU is still using where a stream has freed it, and that already serves the same stream
 * at another address. Stream order keeps the two uses apart, as it does where a stream is given the very block back that
 * it has freed. So memory moves without waiting for the GPU; only the old mapping has to stay until the work that was
 * queued has passed. Such a place is a STALE block.
 *
 *     old place   | STALE ......................|  unmapped: HOLE
 *                   ^ alias                     ^ its fence has passed
 *     new place   | LIVE, for the same stream ......
 *
 * An extent with a stale place is neither released nor moved for other streams.
 */
#ifndef XS_CORE_STALE_H
#define XS_CORE_STALE_H

#include "core/device.h"

/* The place that a BUSY block covers is stale: its extent, which is not found there any more, is mapped elsewhere
 * too. Under HEAP. */
void xs_stale_put(struct xs_device *dev, struct xs_block *block, struct xs_extent *extent);

/* Unmaps the places that the GPU has passed; where the driver refuses, they stay as they are. Under GROWTH, the context is
 * current. */
void xs_stale_sweep(struct xs_device *dev);

#endif
