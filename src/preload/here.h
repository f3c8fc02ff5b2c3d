/*
 * Where the calling thread is: its current context, the device, and xseg's record of it. Each thread remembers
 * the last answer, which holds as long as the context is the current one and none has been destroyed.
 */
#ifndef XS_PRELOAD_HERE_H
#define XS_PRELOAD_HERE_H

#include "core/device.h"
#include "preload/entry.h"

typedef xs_cu_result (*xs_current_context_fn)(xs_cu_context *context);

struct xs_here {
    uint64_t generation;
    xs_cu_context context;
    struct xs_device *dev; /* NULL: not one that xseg can serve, the driver has to */
    int ordinal;
    size_t native_from; /* requests from so many bytes ... */
    size_t native_to;   /* ... to so many are the driver's */
    bool native_info;   /* cuMemGetInfo is the driver's */
    bool
        settled; /* the runtime library has made its device's context current since the last cudaSetDevice */
};

extern __thread struct xs_here xs_here_of_thread __attribute__((tls_model("initial-exec")));
extern _Atomic uint64_t xs_here_generation;
extern _Atomic(xs_current_context_fn) xs_here_current;

/* The driver's cuCtxGetCurrent, looked up. */
xs_cu_result xs_here_first_current(xs_cu_context *context);
/* Finds out, opening the device if need be; a second context of a device cannot be served. */
void xs_here_look(xs_cu_context context);
/* A context or a device goes: every thread looks again. */
void xs_here_forget(void);

/* The calling thread's place, or the driver's error code where no context is current. */
static inline xs_cu_result xs_here_enter(struct xs_here **out)
{
    struct xs_here *here = &xs_here_of_thread;
    xs_current_context_fn current = atomic_load_explicit(&xs_here_current, memory_order_acquire);
    xs_cu_context context = NULL;
    xs_cu_result code =
        xs_likely(current != NULL) ? current(&context) : xs_here_first_current(&context);
    if (xs_unlikely(code || !context))
        return code ? code : XS_CUDA_ERROR_INVALID_CONTEXT;
    if (xs_unlikely(context != here->context ||
                    here->generation !=
                        atomic_load_explicit(&xs_here_generation, memory_order_acquire)))
        xs_here_look(context);
    *out = here;
    return XS_CUDA_SUCCESS;
}

#endif
