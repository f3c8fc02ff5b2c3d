/* CUDA IPC: the driver's own so far. */
#include "preload/entry.h"

xs_cu_result cuIpcGetMemHandle(struct xs_ipc_handle *handle, xs_cu_ptr va)
{
    return xs_native_cuIpcGetMemHandle(handle, va);
}

xs_cu_result cuIpcOpenMemHandle(xs_cu_ptr *va, struct xs_ipc_handle handle, unsigned flags)
{
    return xs_native_cuIpcOpenMemHandle(va, handle, flags);
}

xs_cu_result cuIpcOpenMemHandle_v2(xs_cu_ptr *va, struct xs_ipc_handle handle, unsigned flags)
{
    return xs_native_cuIpcOpenMemHandle_v2(va, handle, flags);
}

xs_cu_result cuIpcCloseMemHandle(xs_cu_ptr va)
{
    return xs_native_cuIpcCloseMemHandle(va);
}
