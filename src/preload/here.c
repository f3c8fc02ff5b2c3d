#include "preload/here.h"

#include <string.h>

#include "core/runtime.h"
#include "driver/driver.h"
#include "preload/door.h"
#include "preload/order.h"
#include "preload/peer.h"
#include "preload/report.h"

__thread struct xs_here xs_here_of_thread;
_Atomic uint64_t xs_here_generation = 1;
_Atomic(xs_current_context_fn) xs_here_current;

xs_cu_result xs_here_first_current(xs_cu_context *context)
{
    void *found = xs_door_driver_symbol("cuCtxGetCurrent");
    xs_current_context_fn fn;
    memcpy(&fn, &found, sizeof(fn));
    if (!fn)
        return XS_CUDA_ERROR_NOT_INITIALIZED;
    atomic_store_explicit(&xs_here_current, fn, memory_order_release);
    return fn(context);
}

/* Errors: those of opening the device, and NOT_SUPPORTED for a second context and backend:cudaMalloc. */
static enum xseg_result find_device(int *ordinal, struct xs_device **dev)
{
    enum xseg_result e = xs_door_use_driver();
    if (!e)
        e = xs_context_current_device(ordinal);
    if (!e)
        e = xs_runtime_device(*ordinal, dev);
    if (!e)
        e = xs_context_check(&(*dev)->context);
    return e;
}

static void take_policy(struct xs_here *here, struct xs_device *dev)
{
    xs_lock_acquire(&dev->lock);
    here->native_from = dev->policy.native_from;
    here->native_to = dev->policy.native_to;
    here->native_info = dev->policy.preload_memory_info == XS_INFO_NATIVE;
    bool always = dev->policy.preload_order == XS_ORDER_CONTEXT;
    bool cached = dev->policy.backend == XS_BACKEND_NATIVE;
    xs_lock_release(&dev->lock);
    here->dev = cached ? dev : NULL;
    if (always)
        xs_order_set_several("preload_order:context");
}

void xs_here_look(xs_cu_context context)
{
    struct xs_here *here = &xs_here_of_thread;
    struct xs_device *dev = NULL;
    here->generation = atomic_load(&xs_here_generation);
    here->context = context;
    here->dev = NULL;
    here->settled = false;
    if (xs_runtime_is_over() || find_device(&here->ordinal, &dev))
        return;
    take_policy(here, dev);
    xs_order_note_device(here->ordinal);
    xs_peer_apply(dev);
    xs_report_begin();
}

void xs_here_forget(void)
{
    atomic_fetch_add(&xs_here_generation, 1);
}
