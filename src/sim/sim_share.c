/*
 * Sharing memory with other processes and other devices. A handle leaves the process as a file descriptor of its
 * own for the device's memory file, whose position says which part of the file is meant: the offset, a multiple
 * of the granularity, and in the bits below that the number of granules.
 */
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "sim/sim_context.h"
#include "sim/sim_entry.h"
#include "sim/sim_extent.h"
#include "sim/sim_ledger.h"
#include "sim/sim_state.h"

static xs_cu_result invalid(const char *why)
{
    return xs_sim_misuse(XS_CUDA_ERROR_INVALID_VALUE, "%s", why);
}

static int open_again(int file)
{
    char path[48];
    snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
    return open(path, O_RDWR | O_CLOEXEC);
}

xs_cu_result xs_sim_do_cuMemExportToShareableHandle(void *out, xs_cu_mem mem, int type,
                                                    unsigned long long flags)
{
    const struct xs_sim_extent *extent = xs_sim_extent_of(mem);
    if (!out || !extent || flags)
        return invalid("NULL argument, unknown handle, or flags");
    if (type != XS_CU_HANDLE_POSIX_FD || !xs_sim.config.data || extent->file >= 0)
        return XS_CUDA_ERROR_NOT_SUPPORTED;
    const uint64_t granules = extent->bytes / xs_sim.config.granule;
    const int file = open_again(xs_sim.physical[extent->device].fd);
    if (file < 0 || lseek(file, (off_t)(extent->offset + granules), SEEK_SET) < 0) {
        if (file >= 0)
            close(file);
        return XS_CUDA_ERROR_OUT_OF_MEMORY;
    }
    *(int *)out = file;
    return XS_CUDA_SUCCESS;
}

xs_cu_result xs_sim_do_cuMemImportFromShareableHandle(xs_cu_mem *mem, void *handle, int type)
{
    const size_t granule = xs_sim.config.granule;
    const int theirs = (int)(intptr_t)handle;
    const off_t at = lseek(theirs, 0, SEEK_CUR);
    struct xs_sim_extent *extent;
    if (!mem || type != XS_CU_HANDLE_POSIX_FD || at < 0 || (size_t)at % granule == 0)
        return invalid("NULL argument, or no descriptor of exported memory");
    const int file = fcntl(theirs, F_DUPFD_CLOEXEC, 0);
    if (file < 0)
        return XS_CUDA_ERROR_OUT_OF_MEMORY;
    const xs_cu_result result = xs_sim_extent_import(0, (size_t)at % granule * granule, file,
                                                     (uint64_t)at / granule * granule, &extent);
    if (result == XS_CUDA_SUCCESS)
        *mem = xs_sim_extent_handle(extent);
    else
        close(file);
    return result;
}

/* The driver's own IPC is not simulated: as on the real one, memory of VMM calls has none. */
xs_cu_result xs_sim_do_cuIpcGetMemHandle(struct xs_sim_ipc_handle *handle, xs_cu_ptr va)
{
    (void)va;
    return handle ? XS_CUDA_ERROR_INVALID_VALUE : invalid("NULL argument");
}

xs_cu_result xs_sim_do_cuIpcOpenMemHandle_v2(xs_cu_ptr *va, struct xs_sim_ipc_handle handle,
                                             unsigned flags)
{
    (void)handle, (void)flags;
    return va ? XS_CUDA_ERROR_INVALID_VALUE : invalid("NULL argument");
}

xs_cu_result xs_sim_do_cuIpcCloseMemHandle(xs_cu_ptr va)
{
    (void)va;
    return XS_CUDA_ERROR_INVALID_VALUE;
}

/* ---- other devices -------------------------------------------------------------------------- */

enum { PEER_ALREADY_ENABLED = 704, PEER_NOT_ENABLED = 705 };

/* enabled[user][owner] */
static bool enabled[XS_SIM_MAX_DEVICES][XS_SIM_MAX_DEVICES];

static xs_cu_result set_peer(xs_cu_context peer, bool to)
{
    const struct xs_sim_context *owner = xs_sim_context_of(peer);
    const int user = xs_sim_context_current()->device;
    if (!owner)
        return xs_sim_misuse(XS_CUDA_ERROR_INVALID_CONTEXT, "not a live context");
    if (owner->device == user)
        return XS_CUDA_ERROR_INVALID_DEVICE;
    if (enabled[user][owner->device] == to)
        return to ? PEER_ALREADY_ENABLED : PEER_NOT_ENABLED;
    enabled[user][owner->device] = to;
    return XS_CUDA_SUCCESS;
}

xs_cu_result xs_sim_do_cuCtxEnablePeerAccess(xs_cu_context peer, unsigned flags)
{
    return flags ? invalid("flags must be 0") : set_peer(peer, true);
}

xs_cu_result xs_sim_do_cuCtxDisablePeerAccess(xs_cu_context peer)
{
    return set_peer(peer, false);
}
