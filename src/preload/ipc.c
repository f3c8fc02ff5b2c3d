/*
 * CUDA IPC. The driver cannot share memory of virtual memory calls by its own handles, so ours are of our own: a
 * handle says which process has the memory, and that process hands out descriptors (ipc_export.h). What is not
 * ours, and handles that are the driver's, go to the driver.
 */
#include <string.h>

#include "core/inside.h"
#include "core/runtime.h"
#include "preload/door.h"
#include "preload/here.h"
#include "preload/ipc_export.h"
#include "preload/ipc_import.h"

/* CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS, the only flags that there are. */
#define LAZY_PEER_ACCESS 1

static bool is_ours(xs_cu_ptr va)
{
    struct xs_inside inside = xs_inside_find(va);
    return inside.dev && inside.requested;
}

xs_cu_result cuIpcGetMemHandle(struct xs_ipc_handle *handle, xs_cu_ptr va)
{
    struct xs_here *here;
    struct xs_ipc_blob blob;
    if (!handle || !va || !xs_door_is_open() || xs_runtime_is_over() || xs_here_enter(&here) ||
        !is_ours(va))
        return xs_native_cuIpcGetMemHandle(handle, va);
    if (!xs_ipc_export(&blob, va))
        return XS_CUDA_ERROR_INVALID_VALUE;
    memcpy(handle, &blob, sizeof(blob));
    return XS_CUDA_SUCCESS;
}

/* False: the driver has to answer. */
static bool open_ours(xs_cu_ptr *va, const struct xs_ipc_handle *handle, unsigned flags,
                      xs_cu_result *code)
{
    struct xs_here *here;
    struct xs_ipc_blob blob;
    if (!va || !xs_ipc_is_blob(handle) || !xs_door_is_open())
        return false;
    memcpy(&blob, handle, sizeof(blob));
    *code = xs_here_enter(&here);
    if (!*code && (flags != LAZY_PEER_ACCESS || blob.version != XS_IPC_VERSION))
        *code = XS_CUDA_ERROR_INVALID_VALUE;
    else if (!*code && (xs_ipc_is_own(&blob) || xs_door_use_driver()))
        *code = XS_CUDA_ERROR_INVALID_CONTEXT; /* natively, too, a process cannot open its own */
    if (!*code)
        *code = xs_ipc_open(&blob, va);
    return true;
}

xs_cu_result cuIpcOpenMemHandle(xs_cu_ptr *va, struct xs_ipc_handle handle, unsigned flags)
{
    xs_cu_result code;
    return open_ours(va, &handle, flags, &code) ? code
                                                : xs_native_cuIpcOpenMemHandle(va, handle, flags);
}

xs_cu_result cuIpcOpenMemHandle_v2(xs_cu_ptr *va, struct xs_ipc_handle handle, unsigned flags)
{
    xs_cu_result code;
    return open_ours(va, &handle, flags, &code)
               ? code
               : xs_native_cuIpcOpenMemHandle_v2(va, handle, flags);
}

xs_cu_result cuIpcCloseMemHandle(xs_cu_ptr va)
{
    xs_cu_result code;
    return xs_door_is_open() && xs_ipc_close(va, &code) ? code : xs_native_cuIpcCloseMemHandle(va);
}
