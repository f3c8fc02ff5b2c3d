/* A snapshot of a running device. */
#ifndef XS_REPORT_SNAPSHOT_TAKE_H
#define XS_REPORT_SNAPSHOT_TAKE_H

#include "core/device.h"
#include "report/snapshot.h"

/*
 * State and events are of one moment: every thread's hits are held up while blocks and extents are copied, and
 * everything else that changes them, by HEAP. Events are copied and stacks are given names afterwards. asking and
 * free_bytes: as for xs_reading_take_locked(). Errors: HOST_MEMORY; *s is empty then.
 */
enum xseg_result xs_snapshot_take(struct xs_snapshot *s, struct xs_device *dev,
                                  const struct xs_pool *asking, size_t free_bytes);

#endif
