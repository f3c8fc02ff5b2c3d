/*
 * Peer access: which devices the program has let use another one's memory. Native memory is opened by the driver
 * then; the library's has to be opened by the library, whatever was allocated first.
 */
#ifndef XS_PRELOAD_PEER_H
#define XS_PRELOAD_PEER_H

#include "core/device.h"

/* Opens the device's memory to those that may use it, where that has not been done. */
void xs_peer_apply(struct xs_device *dev);

void xs_peer_wait_for_users(const struct xs_device *dev);

/* Memory is about to be freed: what other devices do with it is waited for, as the driver's free would. */
static inline void xs_peer_wait(const struct xs_device *dev)
{
    if (xs_unlikely(dev->caps.peers != 0))
        xs_peer_wait_for_users(dev);
}

/* The context goes: what it was allowed is forgotten. */
void xs_peer_forget(xs_cu_context context);

#endif
