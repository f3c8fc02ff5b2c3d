/*
 * Captures that are open, as seen where they begin and end. While one is, nothing may be done that would
 * invalidate it: the library is told, and a failed request of the driver's does not wait for the GPU.
 */
#ifndef XS_PRELOAD_CAPTURE_H
#define XS_PRELOAD_CAPTURE_H

#include "preload/entry.h"

bool xs_capture_is_open(void);
/* Whether this stream captures; the driver is asked only while some capture is open. */
bool xs_capture_has(xs_cu_stream stream);

#endif
