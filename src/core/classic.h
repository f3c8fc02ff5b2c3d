/*
 * Classic mode: segments from cuMemAlloc, split and coalesced as PyTorch's native allocator does it,
 * to the byte of reserved memory. For comparison, and for devices without virtual memory calls.
 *
 * Small blocks (up to 1 MiB) live in segments of 2 MiB; large ones in segments of 20 MiB, or of their
 * own size from 10 MiB on. A segment goes back to the driver only as a whole.
 */
#ifndef XS_CORE_CLASSIC_H
#define XS_CORE_CLASSIC_H

#include "core/alloc.h"

/* Best fit by the classic rules, made LIVE; NULL: a miss. Under HEAP. */
struct xs_block *xs_classic_best_fit(const struct xs_request *request);

/* One new segment for the request, after garbage collection where the policy asks for it. On success the
 * block is LIVE and handed out. Under GROWTH with the context current. */
enum xseg_result xs_classic_grow(const struct xs_request *request, struct xs_block **block);

/* Gives free segments back until not more than `keep` bytes are reserved on the device. Under GROWTH with
 * the context current. */
enum xseg_result xs_classic_release(struct xs_device *dev, size_t keep);
/* For an oversize request: the smallest free segment that is large enough, else from the largest down
 * until as much has gone. As PyTorch does where max_split_size_mb is set. */
enum xseg_result xs_classic_release_for(struct xs_device *dev, const struct xs_request *request);

/* backend:cudaMalloc: the block's segment goes back at once. Not under HEAP; the block is LIVE and no
 * longer in the address map. */
enum xseg_result xs_classic_free_uncached(struct xs_device *dev, struct xs_block *block);

#endif
