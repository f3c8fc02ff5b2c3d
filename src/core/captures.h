/*
 * Which streams of a device capture, as far as can be known: some are announced, some are seen when they are passed,
 * and those that the caller vouches for are asked. Thread-safe; the context is current where the driver is asked.
 */
#ifndef XS_CORE_CAPTURES_H
#define XS_CORE_CAPTURES_H

#include "core/device.h"

/* Whether an event on the stream would be part of a capture, or end one: of the legacy stream, also while a blocking
 * stream captures. The handle is alive. */
bool xs_captures_has(xs_cu_stream handle);

/* Whether any stream may be capturing, so that a context-wide event could invalidate that. One that has neither been
 * announced nor seen cannot be ruled out. */
bool xs_captures_maybe(struct xs_device *dev);

/* A capture is about to begin. Waits for a context-wide event that is being recorded, which would invalidate it. */
void xs_captures_begin(struct xs_device *dev);
/* One has ended. Errors: INVALID_VALUE (none had begun). */
enum xseg_result xs_captures_end(struct xs_device *dev);

#endif
