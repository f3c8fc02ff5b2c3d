/*
 * Giving memory back to the driver: idle extents, extents wholly inside free blocks, free classic
 * segments, empty address ranges. Never waits; what a fence still guards stays.
 */
#ifndef XS_CORE_TRIM_H
#define XS_CORE_TRIM_H

#include "core/alloc.h"

/* Until not more than `keep` bytes are reserved. On a driver error what has gone has gone, and the rest is
 * as before. Takes GROWTH. */
enum xseg_result xs_trim(struct xs_device *dev, size_t keep);

/* For a request that nothing else could serve: classic segments, and for a classic one what the expandable
 * heap caches. Under GROWTH with the context current. */
enum xseg_result xs_trim_for_request(struct xs_device *dev, bool expandable);

/* Address space of pools that were destroyed and hold nothing any more. Under GROWTH with the context current. */
void xs_trim_dead_pools(struct xs_device *dev);

#endif
