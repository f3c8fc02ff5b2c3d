/*
 * A mapped extent is a shared mapping of its range in the device's memory file, so its bytes are
 * the same at every address it is mapped at, and survive being unmapped. It is PROT_NONE until some
 * device has access; then the program may follow a device pointer on the host. Unmapped addresses
 * of a reservation are PROT_NONE anonymous memory.
 */
#include "sim/sim_extent.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "sim/sim_state.h"

static void *host(xs_cu_ptr va)
{
    return (void *)(uintptr_t)va;
}

static bool host_map(xs_cu_ptr va, const struct xs_sim_extent *extent)
{
    if (!xs_sim.config.data)
        return true;
    const int file = extent->file >= 0 ? extent->file : xs_sim.physical[extent->device].fd;
    void *p = mmap(host(va), extent->bytes, PROT_NONE, MAP_SHARED | MAP_FIXED | MAP_NORESERVE, file,
                   (off_t)extent->offset);
    if (p == MAP_FAILED)
        perror("xseg-sim: cannot map (is vm.max_map_count large enough?)");
    return p != MAP_FAILED;
}

static void host_unmap(xs_cu_ptr va, size_t bytes)
{
    if (!xs_sim.config.data)
        return;
    if (mmap(host(va), bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED,
             -1, 0) == MAP_FAILED)
        perror("xseg-sim: cannot unmap (is vm.max_map_count large enough?)");
}

/* One call for all mappings of the row that have the same protection, or the map count explodes. */
static void host_protect(xs_cu_ptr va, size_t bytes, int prot)
{
    if (xs_sim.config.data && bytes && mprotect(host(va), bytes, prot))
        perror("xseg-sim: cannot set access (is vm.max_map_count large enough?)");
}

static int protection(const struct xs_sim_mapping *mapping)
{
    int prot = PROT_NONE;
    for (size_t i = 0; i < xs_sim.config.devices; i++) {
        if (mapping->access[i] == XS_CU_ACCESS_READWRITE)
            return PROT_READ | PROT_WRITE;
        if (mapping->access[i] == XS_CU_ACCESS_READ)
            prot = PROT_READ;
    }
    return prot;
}

xs_cu_result xs_sim_extent_new(int device, size_t bytes, struct xs_sim_extent **out)
{
    struct xs_sim_extent *extent = xs_sim_slots_take(&xs_sim.extents);
    if (!extent)
        return XS_CUDA_ERROR_OUT_OF_MEMORY;
    extent->device = device;
    extent->bytes = bytes;
    extent->file = -1;
    const xs_cu_result result =
        xs_sim_physical_take(&xs_sim.physical[device], bytes, &extent->offset);
    if (result == XS_CUDA_SUCCESS)
        *out = extent;
    else
        xs_sim_slots_give(&xs_sim.extents, extent);
    return result;
}

xs_cu_result xs_sim_extent_import(int device, size_t bytes, int file, uint64_t offset,
                                  struct xs_sim_extent **out)
{
    struct xs_sim_extent *extent = xs_sim_slots_take(&xs_sim.extents);
    if (!extent)
        return XS_CUDA_ERROR_OUT_OF_MEMORY;
    extent->device = device;
    extent->bytes = bytes;
    extent->offset = offset;
    extent->file = file;
    *out = extent;
    return XS_CUDA_SUCCESS;
}

static void free_if_unused(struct xs_sim_extent *extent)
{
    if (!extent->released || extent->mappings > 0)
        return;
    if (extent->file >= 0)
        close(extent->file);
    else
        xs_sim_physical_give(&xs_sim.physical[extent->device], extent->bytes, extent->offset);
    xs_sim_slots_give(&xs_sim.extents, extent);
}

void xs_sim_extent_release(struct xs_sim_extent *extent)
{
    extent->released = true;
    free_if_unused(extent);
}

xs_cu_mem xs_sim_extent_handle(const struct xs_sim_extent *extent)
{
    return (xs_cu_mem)extent->slot.generation << 32 | (extent->slot.index + 1);
}

struct xs_sim_extent *xs_sim_extent_of(xs_cu_mem handle)
{
    struct xs_sim_extent *extent = xs_sim_slots_at(&xs_sim.extents, (uint32_t)handle - (size_t)1);
    const bool known =
        extent && !extent->released && !extent->for_alloc && xs_sim_extent_handle(extent) == handle;
    return known ? extent : NULL;
}

static void set_slots(struct xs_sim_reservation *reservation, const struct xs_sim_mapping *mapping,
                      struct xs_sim_mapping *value)
{
    struct xs_sim_mapping **slot = xs_sim_slot(reservation, mapping->va);
    for (size_t i = 0; i < mapping->extent->bytes / xs_sim.config.granule; i++)
        slot[i] = value;
}

xs_cu_result xs_sim_map(struct xs_sim_reservation *reservation, xs_cu_ptr va,
                        struct xs_sim_extent *extent)
{
    struct xs_sim_mapping *mapping = calloc(1, sizeof(*mapping));
    if (!mapping || !host_map(va, extent)) {
        free(mapping);
        return XS_CUDA_ERROR_OUT_OF_MEMORY;
    }
    mapping->va = va;
    mapping->extent = extent;
    xs_list_push_back(&xs_sim.mappings, &mapping->link);
    set_slots(reservation, mapping, mapping);
    extent->mappings++;
    reservation->mapped++;
    return XS_CUDA_SUCCESS;
}

const char *xs_sim_row_fault(struct xs_sim_reservation *reservation, xs_cu_ptr va, size_t bytes)
{
    const xs_cu_ptr end = va + bytes;
    for (xs_cu_ptr at = va; at < end;) {
        const struct xs_sim_mapping *mapping = *xs_sim_slot(reservation, at);
        if (!mapping)
            return "part of the range is not mapped";
        if (mapping->va != at || mapping->extent->bytes > end - at)
            return "the range cuts a handle";
        at += mapping->extent->bytes;
    }
    return NULL;
}

size_t xs_sim_row_unmap(struct xs_sim_reservation *reservation, xs_cu_ptr va, size_t bytes)
{
    size_t n = 0;
    host_unmap(va, bytes);
    for (xs_cu_ptr at = va; at < va + bytes; n++) {
        struct xs_sim_mapping *mapping = *xs_sim_slot(reservation, at);
        struct xs_sim_extent *extent = mapping->extent;
        at += extent->bytes;
        set_slots(reservation, mapping, NULL);
        xs_list_remove(&mapping->link);
        free(mapping);
        extent->mappings--;
        reservation->mapped--;
        free_if_unused(extent);
    }
    return n;
}

size_t xs_sim_row_access(struct xs_sim_reservation *reservation, xs_cu_ptr va, size_t bytes,
                         int device, int flags)
{
    size_t n = 0;
    xs_cu_ptr from = va; /* [from, at) has one protection and waits to be set */
    int prot = PROT_NONE;
    for (xs_cu_ptr at = va; at < va + bytes; n++) {
        struct xs_sim_mapping *mapping = *xs_sim_slot(reservation, at);
        mapping->access[device] = (unsigned char)flags;
        const int next = protection(mapping);
        if (next != prot) {
            host_protect(from, at - from, prot);
            from = at;
            prot = next;
        }
        at += mapping->extent->bytes;
    }
    host_protect(from, va + bytes - from, prot);
    return n;
}
