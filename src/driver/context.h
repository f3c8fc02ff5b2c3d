/*
 * Makes a device's context current for a few driver calls and puts back what was there.
 *
 * One context serves a device: the first that was current when the device was used, else its primary one.
 * Events and streams of one context mean nothing in another, so requests from a second context of the same
 * device are refused. Nothing is created on a device that was not asked for.
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
    _Atomic(xs_cu_context) bound; /* the one that is used */
    _Atomic bool retained;        /* it is the primary one, and we hold a reference */
};

struct xs_context_scope {
    bool pushed;
    bool exchanged;
    int capture_mode;
};

/* Whether a request may come from the calling thread's context. Errors: NOT_SUPPORTED. */
enum xseg_result xs_context_check(struct xs_context *context);
enum xseg_result xs_context_enter(struct xs_context *context, struct xs_context_scope *scope);
void xs_context_leave(struct xs_context_scope *scope);
/* Gives the retained primary context back. */
void xs_context_release(struct xs_context *context);
/* The ordinal of the calling thread's current context. Errors: NO_DEVICE. */
enum xseg_result xs_context_current_device(int *ordinal);

#endif
