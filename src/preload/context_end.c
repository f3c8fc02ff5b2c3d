/* Contexts that end. What the library holds of a device lives in one of its contexts, and is given back before
 * that goes; the program's pointers end with it, as natively. */
#include "core/runtime.h"
#include "driver/driver.h"
#include "ipc/ipc_export.h"
#include "preload/door.h"
#include "preload/here.h"
#include "preload/peer.h"
#include "preload/report.h"

/* References to primary contexts that the program holds, as far as they were seen. */
static _Atomic int retained[XS_DEVICE_LIMIT];
static _Atomic(xs_cu_context) primary[XS_DEVICE_LIMIT];

static bool is_known(xs_cu_device device)
{
    return device >= 0 && device < XS_DEVICE_LIMIT;
}

static bool is_bound(int ordinal, xs_cu_context context)
{
    struct xs_device *dev = xs_runtime_open_device(ordinal);
    return dev && context && atomic_load(&dev->context.bound) == context;
}

/* At exit the driver takes everything back by itself. */
static void end_context(xs_cu_context context)
{
    if (!xs_door_is_open() || xs_report_is_exiting())
        return;
    for (int i = 0; i < XS_DEVICE_LIMIT; i++) {
        if (!is_bound(i, context))
            continue;
        xs_ipc_forget_device(i);
        xs_runtime_close_device(i);
    }
    xs_peer_forget(context);
    xs_here_forget();
}

xs_cu_result cuCtxDestroy_v2(xs_cu_context context)
{
    end_context(context);
    return xs_native_cuCtxDestroy_v2(context);
}

xs_cu_result cuDevicePrimaryCtxRetain(xs_cu_context *context, xs_cu_device device)
{
    xs_cu_result code = xs_native_cuDevicePrimaryCtxRetain(context, device);
    if (!code && is_known(device)) {
        atomic_store(&primary[device], *context);
        atomic_fetch_add(&retained[device], 1);
    }
    return code;
}

static void before_release(xs_cu_device device)
{
    if (is_known(device) && atomic_load(&retained[device]) == 1)
        end_context(atomic_load(&primary[device]));
}

static xs_cu_result after_release(xs_cu_device device, xs_cu_result code)
{
    if (!code && is_known(device) && atomic_fetch_sub(&retained[device], 1) <= 0)
        atomic_store(&retained[device], 0);
    return code;
}

xs_cu_result cuDevicePrimaryCtxRelease(xs_cu_device device)
{
    before_release(device);
    return after_release(device, xs_native_cuDevicePrimaryCtxRelease(device));
}

xs_cu_result cuDevicePrimaryCtxRelease_v2(xs_cu_device device)
{
    before_release(device);
    return after_release(device, xs_native_cuDevicePrimaryCtxRelease_v2(device));
}

/* The references stay, says the driver's manual: only what they refer to is new. */
static void before_reset(xs_cu_device device)
{
    if (is_known(device))
        end_context(atomic_load(&primary[device]));
}

xs_cu_result cuDevicePrimaryCtxReset(xs_cu_device device)
{
    before_reset(device);
    return xs_native_cuDevicePrimaryCtxReset(device);
}

xs_cu_result cuDevicePrimaryCtxReset_v2(xs_cu_device device)
{
    before_reset(device);
    return xs_native_cuDevicePrimaryCtxReset_v2(device);
}
