/*
 * Memory of other processes that this one has opened: mapped at an address range of exactly its size, once, however
 * often it is opened. Thread-safe.
 */
#ifndef XS_IPC_IPC_IMPORT_H
#define XS_IPC_IPC_IMPORT_H

#include "driver/cuda_abi.h"
#include "ipc/ipc_socket.h"

/* Whether the XS_IPC_HANDLE_BYTES at `handle` are one of ours, by the first of them. */
bool xs_ipc_is_blob(const void *handle);

/* Opens it for the device of the current context: the block begins at *va. Codes: as cuIpcOpenMemHandle, which refuses
 * handles of the same process too; xs_error_text() says why. */
xs_cu_result xs_ipc_open(const struct xs_ipc_blob *blob, xs_cu_ptr *va);

/* False: the pointer is not of that kind. Waits for the GPU, in the context that it was opened in, before the last one
 * goes. */
bool xs_ipc_close(xs_cu_ptr va, xs_cu_result *code);

/* The block that an address of such memory lies in. */
bool xs_ipc_range(xs_cu_ptr va, xs_cu_ptr *base, size_t *bytes);

#endif
