/*
 * Makes a device's context current for a few driver calls and puts back what was there.
 * The caller's own context is used where it belongs to the device; otherwise the device's primary one,
 * retained once. Nothing is created on a device that was not asked for.
 *
 * In between, the thread's capture mode is relaxed: while some other thread captures in global mode, calls
 * such as cuEventQuery would be refused and would invalidate that capture.
 */
#ifndef XS_DRIVER_CONTEXT_H
#define XS_DRIVER_CONTEXT_H

#include <stdatomic.h>

#include "base/base.h"
#include "driver/cuda_abi.h"

struct xs_context {
    xs_cu_device device;
    _Atomic(xs_cu_context) primary; /* retained at first use */
};

struct xs_context_scope {
    bool pushed;
    bool exchanged;
    int capture_mode;
};

enum xseg_result xs_context_enter(struct xs_context *context, struct xs_context_scope *scope);
void xs_context_leave(struct xs_context_scope *scope);
/* Gives the retained primary context back. */
void xs_context_release(struct xs_context *context);
/* The ordinal of the calling thread's current context. Errors: NO_DEVICE. */
enum xseg_result xs_context_current_device(int *ordinal);

#endif
