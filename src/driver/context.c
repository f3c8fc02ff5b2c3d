#include "driver/context.h"

#include "base/error.h"
#include "driver/driver.h"

enum xseg_result xs_context_current_device(int *ordinal)
{
    xs_cu_device device;
    xs_cu_result code = xs_cu_ctx_get_device(&device);
    if (code == XS_CUDA_ERROR_INVALID_CONTEXT)
        return xs_fail(XSEG_ERROR_NO_DEVICE, "no CUDA context is current, and no device was named");
    if (code)
        return xs_driver_result(code);
    *ordinal = device; /* device handles are ordinals */
    return XSEG_OK;
}

static xs_cu_result retain_primary(struct xs_context *context, xs_cu_context *out)
{
    *out = atomic_load(&context->primary);
    if (*out)
        return XS_CUDA_SUCCESS;
    xs_cu_result code = xs_cu_primary_ctx_retain(out, context->device);
    if (code)
        return code;
    xs_cu_context expected = NULL;
    if (!atomic_compare_exchange_strong(&context->primary, &expected, *out))
        xs_cu_primary_ctx_release(context->device); /* another was first: one reference is enough */
    return XS_CUDA_SUCCESS;
}

static void exchange_mode(struct xs_context_scope *scope)
{
    scope->capture_mode = XS_CU_CAPTURE_MODE_RELAXED;
    scope->exchanged = xs_driver_has(XS_CALL_exchange_capture_mode) &&
                       xs_cu_exchange_capture_mode(&scope->capture_mode) == XS_CUDA_SUCCESS;
}

static void restore_mode(struct xs_context_scope *scope)
{
    if (scope->exchanged)
        xs_cu_exchange_capture_mode(&scope->capture_mode);
    scope->exchanged = false;
}

enum xseg_result xs_context_enter(struct xs_context *context, struct xs_context_scope *scope)
{
    scope->pushed = false;
    exchange_mode(scope);
    xs_cu_context current = NULL, primary;
    xs_cu_device device;
    xs_cu_result code = xs_cu_ctx_get_current(&current);
    if (!code && current && !xs_cu_ctx_get_device(&device) && device == context->device)
        return XSEG_OK;
    if ((code = retain_primary(context, &primary)) || (code = xs_cu_ctx_push(primary)))
        goto restore;
    scope->pushed = true;
    return XSEG_OK;
restore:
    restore_mode(scope);
    return xs_driver_result(code);
}

void xs_context_leave(struct xs_context_scope *scope)
{
    xs_cu_context popped;
    if (scope->pushed)
        xs_cu_ctx_pop(&popped);
    scope->pushed = false;
    restore_mode(scope);
}

void xs_context_release(struct xs_context *context)
{
    if (atomic_exchange(&context->primary, NULL))
        xs_cu_primary_ctx_release(context->device);
}
