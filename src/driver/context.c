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

/* The first context that was used with the device; else its primary one, retained. */
static xs_cu_result get_bound(struct xs_context *context, xs_cu_context *out)
{
    *out = atomic_load(&context->bound);
    if (*out)
        return XS_CUDA_SUCCESS;
    xs_cu_result code = xs_cu_primary_ctx_retain(out, context->device);
    if (code)
        return code;
    xs_cu_context expected = NULL;
    if (atomic_compare_exchange_strong(&context->bound, &expected, *out)) {
        atomic_store(&context->retained, true);
        return XS_CUDA_SUCCESS;
    }
    xs_cu_primary_ctx_release(context->device); /* another thread was first */
    *out = expected;
    return XS_CUDA_SUCCESS;
}

/* The current context if it is one of the device's, which it is bound to if no other was before. */
static xs_cu_context current_of_device(struct xs_context *context)
{
    xs_cu_context current = NULL, none = NULL;
    xs_cu_device device;
    if (xs_cu_ctx_get_current(&current) || !current)
        return NULL;
    if (current == atomic_load(&context->bound)) /* whose device it is has been asked then */
        return current;
    if (xs_cu_ctx_get_device(&device) || device != context->device)
        return NULL;
    atomic_compare_exchange_strong(&context->bound, &none, current);
    return current;
}

enum xseg_result xs_context_check(struct xs_context *context)
{
    xs_cu_context current = current_of_device(context);
    if (!current || current == atomic_load(&context->bound))
        return XSEG_OK;
    return xs_fail(XSEG_ERROR_NOT_SUPPORTED,
                   "device %d is used from a second CUDA context: fences cover one alone",
                   context->device);
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
    xs_cu_context current = current_of_device(context), bound;
    if (current && current == atomic_load(&context->bound))
        return XSEG_OK;
    xs_cu_result code = get_bound(context, &bound);
    if (code || (code = xs_cu_ctx_push(bound)))
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
    atomic_store(&context->bound, NULL);
    if (atomic_exchange(&context->retained, false))
        xs_cu_primary_ctx_release(context->device);
}
