/*
 * Memory of other processes that this one has opened: mapped at an address range of exactly its size, once, however
 * often it is opened. Thread-safe.
 */
#ifndef XS_PRELOAD_IPC_IMPORT_H
#define XS_PRELOAD_IPC_IMPORT_H

#include "preload/ipc_socket.h"

/* Whether the handle is one of ours, by its first bytes. */
bool xs_ipc_is_blob(const struct xs_ipc_handle *handle);

/* Opens it for the device of the current context. Codes: as cuIpcOpenMemHandle; the log says why. */
xs_cu_result xs_ipc_open(const struct xs_ipc_blob *blob, xs_cu_ptr *va);

/* False: the pointer is not of that kind. Waits for the GPU before the last one goes. */
bool xs_ipc_close(xs_cu_ptr va, xs_cu_result *code);

/* The block that an address of such memory lies in. */
bool xs_ipc_range(xs_cu_ptr va, xs_cu_ptr *base, size_t *bytes);

#endif
