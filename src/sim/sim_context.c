#include "sim/sim_context.h"

#include "sim/sim_capture.h"
#include "sim/sim_device.h"
#include "sim/sim_event.h"
#include "sim/sim_memory.h"
#include "sim/sim_queue.h"
#include "sim/sim_state.h"
#include "sim/sim_stream.h"

static xs_cu_result null_argument(void)
{
    return xs_sim_misuse(XS_CUDA_ERROR_INVALID_VALUE, "NULL argument");
}

static xs_cu_result dead_context(void)
{
    return xs_sim_misuse(XS_CUDA_ERROR_INVALID_CONTEXT, "not a live context");
}

struct xs_sim_context *xs_sim_context_of(xs_cu_context handle)
{
    struct xs_sim_context *ctx = xs_sim_slots_check(&xs_sim.contexts, handle);
    return ctx && ctx->users ? ctx : NULL;
}

static struct xs_sim_context *top(void)
{
    const struct xs_sim_thread *self = xs_sim_self();
    return self->depth ? self->stack[self->depth - 1] : NULL;
}

struct xs_sim_context *xs_sim_context_current(void)
{
    return xs_sim_context_of((xs_cu_context)top());
}

xs_cu_result xs_sim_context_require(void)
{
    if (xs_sim_context_current())
        return XS_CUDA_SUCCESS;
    if (top())
        return xs_sim_misuse(XS_CUDA_ERROR_CONTEXT_IS_DESTROYED,
                             "the current context is destroyed");
    return xs_sim_misuse(XS_CUDA_ERROR_INVALID_CONTEXT, "no context is current");
}

static struct xs_sim_context *new_context(int device, bool primary)
{
    struct xs_sim_context *ctx = xs_sim_slots_take(&xs_sim.contexts);
    if (!ctx)
        return NULL;
    ctx->device = device;
    ctx->primary = primary;
    return ctx;
}

/*
 * Lets its work finish, then ends all that lives in it. What VMM calls made belongs to no context.
 */
static void tear_down(struct xs_sim_context *ctx)
{
    xs_sim_queue_finish(ctx);
    xs_sim_capture_drop_all(ctx);
    xs_sim_stream_drop_all(ctx);
    xs_sim_event_drop_all(ctx);
    xs_sim_memory_drop_all(ctx);
}

xs_cu_result xs_sim_do_cuDevicePrimaryCtxRetain(xs_cu_context *ctx, xs_cu_device dev)
{
    if (!ctx)
        return null_argument();
    const xs_cu_result result = xs_sim_device_check(dev);
    if (result != XS_CUDA_SUCCESS)
        return result;
    if (!xs_sim.primary[dev])
        xs_sim.primary[dev] = new_context(dev, true);
    if (!xs_sim.primary[dev])
        return XS_CUDA_ERROR_OUT_OF_MEMORY;
    xs_sim.primary[dev]->users++;
    *ctx = (xs_cu_context)xs_sim.primary[dev];
    return XS_CUDA_SUCCESS;
}

xs_cu_result xs_sim_do_cuDevicePrimaryCtxRelease_v2(xs_cu_device dev)
{
    const xs_cu_result result = xs_sim_device_check(dev);
    if (result != XS_CUDA_SUCCESS)
        return result;
    struct xs_sim_context *ctx = xs_sim.primary[dev];
    if (!ctx || ctx->users == 0)
        return xs_sim_misuse(XS_CUDA_ERROR_INVALID_CONTEXT, "the primary context is not retained");
    if (ctx->users == 1)
        tear_down(ctx);
    ctx->users--;
    return XS_CUDA_SUCCESS;
}

/* The references stay, and what they refer to begins anew. */
xs_cu_result xs_sim_do_cuDevicePrimaryCtxReset_v2(xs_cu_device dev)
{
    const xs_cu_result result = xs_sim_device_check(dev);
    if (result == XS_CUDA_SUCCESS && xs_sim.primary[dev] && xs_sim.primary[dev]->users)
        tear_down(xs_sim.primary[dev]);
    return result;
}

xs_cu_result xs_sim_do_cuDevicePrimaryCtxGetState(xs_cu_device dev, unsigned *flags, int *active)
{
    if (!flags || !active)
        return null_argument();
    const xs_cu_result result = xs_sim_device_check(dev);
    if (result != XS_CUDA_SUCCESS)
        return result;
    *flags = 0;
    *active = xs_sim.primary[dev] && xs_sim.primary[dev]->users;
    return XS_CUDA_SUCCESS;
}

static xs_cu_result push(struct xs_sim_context *ctx)
{
    struct xs_sim_thread *self = xs_sim_self();
    if (self->depth == XS_SIM_CTX_STACK)
        return XS_CUDA_ERROR_OUT_OF_MEMORY;
    self->stack[self->depth++] = ctx;
    return XS_CUDA_SUCCESS;
}

xs_cu_result xs_sim_do_cuCtxCreate_v2(xs_cu_context *ctx, unsigned flags, xs_cu_device dev)
{
    (void)flags;
    if (!ctx)
        return null_argument();
    xs_cu_result result = xs_sim_device_check(dev);
    if (result != XS_CUDA_SUCCESS)
        return result;
    struct xs_sim_context *made = new_context(dev, false);
    if (!made)
        return XS_CUDA_ERROR_OUT_OF_MEMORY;
    result = push(made);
    if (result != XS_CUDA_SUCCESS) {
        xs_sim_slots_give(&xs_sim.contexts, made);
        return result;
    }
    made->users = 1;
    *ctx = (xs_cu_context)made;
    return XS_CUDA_SUCCESS;
}

xs_cu_result xs_sim_do_cuCtxCreate_v4(xs_cu_context *ctx, void *params, unsigned flags,
                                      xs_cu_device dev)
{
    (void)params;
    return xs_sim_do_cuCtxCreate_v2(ctx, flags, dev);
}

xs_cu_result xs_sim_do_cuCtxDestroy_v2(xs_cu_context handle)
{
    struct xs_sim_thread *self = xs_sim_self();
    struct xs_sim_context *ctx = xs_sim_context_of(handle);
    if (!ctx || ctx->primary)
        return dead_context();
    if (top() == ctx)
        self->depth--;
    tear_down(ctx);
    ctx->users = 0;
    xs_sim_slots_give(&xs_sim.contexts, ctx);
    return XS_CUDA_SUCCESS;
}

xs_cu_result xs_sim_do_cuCtxGetCurrent(xs_cu_context *ctx)
{
    if (!ctx)
        return null_argument();
    *ctx = (xs_cu_context)top();
    return XS_CUDA_SUCCESS;
}

xs_cu_result xs_sim_do_cuCtxSetCurrent(xs_cu_context handle)
{
    struct xs_sim_thread *self = xs_sim_self();
    struct xs_sim_context *ctx = xs_sim_context_of(handle);
    if (handle && !ctx)
        return dead_context();
    if (self->depth)
        self->depth--;
    return ctx ? push(ctx) : XS_CUDA_SUCCESS;
}

xs_cu_result xs_sim_do_cuCtxPushCurrent_v2(xs_cu_context handle)
{
    struct xs_sim_context *ctx = xs_sim_context_of(handle);
    return ctx ? push(ctx) : dead_context();
}

xs_cu_result xs_sim_do_cuCtxPopCurrent_v2(xs_cu_context *ctx)
{
    struct xs_sim_thread *self = xs_sim_self();
    if (self->depth == 0)
        return xs_sim_misuse(XS_CUDA_ERROR_INVALID_CONTEXT, "no context is current");
    if (ctx)
        *ctx = (xs_cu_context)top();
    self->depth--;
    return XS_CUDA_SUCCESS;
}

/* Asking without a current context is how programs find out, so it is refused but no violation. */
xs_cu_result xs_sim_do_cuCtxGetDevice(xs_cu_device *dev)
{
    const struct xs_sim_context *ctx = xs_sim_context_current();
    if (!dev)
        return null_argument();
    if (!ctx)
        return top() ? XS_CUDA_ERROR_CONTEXT_IS_DESTROYED : XS_CUDA_ERROR_INVALID_CONTEXT;
    *dev = ctx->device;
    return XS_CUDA_SUCCESS;
}

xs_cu_result xs_sim_do_cuCtxSynchronize(void)
{
    struct xs_sim_context *ctx = xs_sim_context_current();
    const xs_cu_result result = xs_sim_capture_forbids_in(ctx);
    if (result == XS_CUDA_SUCCESS)
        xs_sim_queue_finish(ctx);
    return result;
}
