/*
 * Blocks used on several streams: which ones, and once the block is freed, when it may go back to its heap.
 * Such a block is WAITING, and active, until every stream that used it has passed its free.
 *
 * Under HEAP.
 */
#ifndef XS_CORE_WAITING_H
#define XS_CORE_WAITING_H

#include "core/device.h"

/* A LIVE block is used on `stream` too. False: no host memory. */
bool xs_waiting_add_use(struct xs_device *dev, struct xs_block *block, struct xs_stream *stream);

/* A block with uses has been freed: it waits. */
void xs_waiting_put(struct xs_device *dev, struct xs_block *block);

/* Blocks that all have passed go to their heap. Returns whether any has. */
bool xs_waiting_settle(struct xs_device *dev);

/* The same for blocks that wait for nothing stamped after `epoch`: their order on `stream` is given by other
 * means. They become free for that stream alone. */
bool xs_waiting_adopt(struct xs_device *dev, struct xs_stream *stream, uint64_t epoch);

#endif
