/*
 * CUDA IPC. The driver cannot share memory of virtual memory calls by its own handles, so ours are of our own: a
 * handle says which process has the memory, and that process hands out descriptors (ipc_export.h). What is not
 * ours, and handles that are the driver's, go to the driver.
 */
#include <string.h>

#include "base/error.h"
#include "base/log.h"
#include "core/inside.h"
#include "core/runtime.h"
#include "ipc/ipc_export.h"
#include "ipc/ipc_import.h"
#include "preload/door.h"
#include "preload/here.h"

/* CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS, the only flags that there are. */
#define LAZY_PEER_ACCESS 1

_Static_assert(sizeof(struct xs_ipc_handle) == XS_IPC_HANDLE_BYTES, "ours take their place");

static bool is_ours(xs_cu_ptr va)
{
    struct xs_inside inside = xs_inside_find(va);
    return inside.dev && inside.requested;
}

xs_cu_result cuIpcGetMemHandle(struct xs_ipc_handle *handle, xs_cu_ptr va)
{
    struct xs_here *here;
    struct xs_ipc_blob blob;
    size_t offset; /* natively, too, a handle is the whole allocation's */
    if (!handle || !va || !xs_door_is_open() || xs_runtime_is_over() || xs_here_enter(&here) ||
        !is_ours(va))
        return xs_native_cuIpcGetMemHandle(handle, va);
    if (!xs_ipc_export(&blob, va, &offset)) {
        xs_log("CUDA IPC: %s; native_from in ALLOC_CONF leaves requests to the driver",
               xs_error_text());
        return XS_CUDA_ERROR_INVALID_VALUE;
    }
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
    if (!*code && flags != LAZY_PEER_ACCESS)
        *code = XS_CUDA_ERROR_INVALID_VALUE;
    if (!*code && xs_door_use_driver())
        *code = XS_CUDA_ERROR_INVALID_CONTEXT;
    if (*code)
        return true;
    *code = xs_ipc_open(&blob, va);
    if (*code)
        xs_log("CUDA IPC: %s", xs_error_text());
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
