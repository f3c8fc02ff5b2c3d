/*
 * Memory of this process that others may open. An exported block has a token as long as it lives; a thread, made
 * with the first export, hands the descriptors of its pieces to whoever asks by the token. Thread-safe.
 */
#ifndef XS_IPC_IPC_EXPORT_H
#define XS_IPC_IPC_EXPORT_H

#include <stdatomic.h>

#include "driver/cuda_abi.h"
#include "ipc/ipc_socket.h"

extern _Atomic bool xs_ipc_has_exports;

/* Describes the live block that `va` lies in, *offset bytes from its start. False: it cannot be shared;
 * xs_error_text() says why. */
bool xs_ipc_export(struct xs_ipc_blob *blob, xs_cu_ptr va, size_t *offset);

void xs_ipc_forget_block(xs_cu_ptr va);
/* All of a device that is closed. */
void xs_ipc_forget_device(int device);

/* The block is about to be freed: nobody can open it any more. */
static inline void xs_ipc_forget(xs_cu_ptr va)
{
    if (xs_unlikely(atomic_load_explicit(&xs_ipc_has_exports, memory_order_relaxed)))
        xs_ipc_forget_block(va);
}

/* Whether the blob is of this very process. */
bool xs_ipc_is_own(const struct xs_ipc_blob *blob);

#endif
