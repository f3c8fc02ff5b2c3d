/*
 * The virtual memory calls as the program sees them: every argument is checked as the real driver
 * checks it, then sim_extent.c does the work. A handle is the unit of mapping: it is mapped whole,
 * at offset 0, and ranges to unmap or to give access to consist of whole mappings of one
 * reservation.
 */
#include "sim/sim_device.h"
#include "sim/sim_extent.h"
#include "sim/sim_queue.h"
#include "sim/sim_state.h"

static xs_cu_result invalid(const char *why)
{
    return xs_sim_misuse(XS_CUDA_ERROR_INVALID_VALUE, "%s", why);
}

static bool is_granular(xs_cu_ptr n)
{
    return n % xs_sim.config.granule == 0;
}

static xs_cu_result check_prop(const struct xs_cu_alloc_prop *prop)
{
    const int known = XS_CU_HANDLE_POSIX_FD | XS_CU_HANDLE_FABRIC;
    if (!xs_sim.config.vmm)
        return XS_CUDA_ERROR_NOT_SUPPORTED;
    if (!prop)
        return invalid("NULL properties");
    if (prop->type != XS_CU_ALLOCATION_PINNED || prop->location.type != XS_CU_LOCATION_DEVICE)
        return invalid("not pinned memory of a device");
    if (prop->requested_handle_types & ~known)
        return invalid("unknown handle type");
    return xs_sim_device_check(prop->location.id);
}

/* A range that VMM calls may work on: the reservation that holds it goes to `out`. */
static xs_cu_result check_range(xs_cu_ptr va, size_t bytes, struct xs_sim_reservation **out)
{
    if (!xs_sim.config.vmm)
        return XS_CUDA_ERROR_NOT_SUPPORTED;
    if (bytes == 0)
        return invalid("size 0");
    if (!is_granular(va) || !is_granular(bytes))
        return invalid("not a multiple of the granularity");
    *out = xs_sim_reservation_of(va, bytes);
    if (!*out || (*out)->for_alloc)
        return xs_sim_misuse(XS_CUDA_ERROR_INVALID_VALUE,
                             "0x%llx + %zu is not inside one reservation", va, bytes);
    return XS_CUDA_SUCCESS;
}

static xs_cu_result check_row(xs_cu_ptr va, size_t bytes, struct xs_sim_reservation **out)
{
    const xs_cu_result result = check_range(va, bytes, out);
    if (result != XS_CUDA_SUCCESS)
        return result;
    const char *fault = xs_sim_row_fault(*out, va, bytes);
    if (fault)
        return xs_sim_misuse(XS_CUDA_ERROR_INVALID_VALUE, "0x%llx + %zu: %s", va, bytes, fault);
    return XS_CUDA_SUCCESS;
}

xs_cu_result xs_sim_do_cuMemGetAllocationGranularity(size_t *bytes,
                                                     const struct xs_cu_alloc_prop *prop,
                                                     int option)
{
    const xs_cu_result result = check_prop(prop);
    if (result != XS_CUDA_SUCCESS)
        return result;
    if (!bytes)
        return invalid("NULL argument");
    if (option != XS_CU_GRANULARITY_MINIMUM && option != XS_CU_GRANULARITY_RECOMMENDED)
        return invalid("unknown option");
    *bytes = xs_sim.config.granule;
    return XS_CUDA_SUCCESS;
}

xs_cu_result xs_sim_do_cuMemAddressReserve(xs_cu_ptr *va, size_t bytes, size_t alignment,
                                           xs_cu_ptr hint, unsigned long long flags)
{
    if (!xs_sim.config.vmm)
        return XS_CUDA_ERROR_NOT_SUPPORTED;
    if (!va)
        return invalid("NULL argument");
    if (bytes == 0 || !is_granular(bytes))
        return invalid("the size is 0 or not a multiple of the granularity");
    if ((alignment && !xs_is_pow2(alignment)) || flags)
        return invalid("the alignment is not a power of two, or flags are not 0");
    const size_t align = xs_max(alignment, xs_sim.config.granule);
    struct xs_sim_reservation *made = xs_sim_reserve(bytes, align, hint);
    if (!made)
        return XS_CUDA_ERROR_OUT_OF_MEMORY;
    *va = made->va;
    return XS_CUDA_SUCCESS;
}

xs_cu_result xs_sim_do_cuMemAddressFree(xs_cu_ptr va, size_t bytes)
{
    struct xs_sim_reservation *reservation;
    const xs_cu_result result = check_range(va, bytes, &reservation);
    if (result != XS_CUDA_SUCCESS)
        return result;
    if (reservation->va != va || reservation->bytes != bytes)
        return invalid("not a whole reservation");
    if (reservation->mapped)
        return invalid("the reservation still has mappings");
    xs_sim_unreserve(reservation);
    return XS_CUDA_SUCCESS;
}

xs_cu_result xs_sim_do_cuMemCreate(xs_cu_mem *mem, size_t bytes,
                                   const struct xs_cu_alloc_prop *prop, unsigned long long flags)
{
    struct xs_sim_extent *extent;
    xs_cu_result result = check_prop(prop);
    if (result != XS_CUDA_SUCCESS)
        return result;
    if (!mem || flags)
        return invalid("NULL argument, or flags are not 0");
    if (bytes == 0 || !is_granular(bytes))
        return invalid("the size is 0 or not a multiple of the granularity");
    if (prop->requested_handle_types & XS_CU_HANDLE_FABRIC)
        return XS_CUDA_ERROR_NOT_PERMITTED; /* as on a machine without a fabric */
    result = xs_sim_extent_new(prop->location.id, bytes, &extent);
    if (result != XS_CUDA_SUCCESS)
        return result;
    *mem = xs_sim_extent_handle(extent);
    xs_sim_ledger_charge(XS_SIM_SYM_cuMemCreate, bytes);
    return XS_CUDA_SUCCESS;
}

xs_cu_result xs_sim_do_cuMemRelease(xs_cu_mem mem)
{
    if (!xs_sim.config.vmm)
        return XS_CUDA_ERROR_NOT_SUPPORTED;
    struct xs_sim_extent *extent = xs_sim_extent_of(mem);
    if (!extent)
        return xs_sim_misuse(XS_CUDA_ERROR_INVALID_VALUE, "unknown handle 0x%llx", mem);
    xs_sim_ledger_charge(XS_SIM_SYM_cuMemRelease, extent->bytes);
    xs_sim_extent_release(extent);
    return XS_CUDA_SUCCESS;
}

xs_cu_result xs_sim_do_cuMemMap(xs_cu_ptr va, size_t bytes, size_t offset, xs_cu_mem mem,
                                unsigned long long flags)
{
    struct xs_sim_reservation *reservation;
    xs_cu_result result = check_range(va, bytes, &reservation);
    if (result != XS_CUDA_SUCCESS)
        return result;
    struct xs_sim_extent *extent = xs_sim_extent_of(mem);
    if (!extent)
        return xs_sim_misuse(XS_CUDA_ERROR_INVALID_VALUE, "unknown handle 0x%llx", mem);
    if (offset || bytes != extent->bytes || flags)
        return invalid("only a whole handle can be mapped, at offset 0 and with flags 0");
    for (xs_cu_ptr at = va; at < va + bytes; at += xs_sim.config.granule)
        if (*xs_sim_slot(reservation, at))
            return xs_sim_misuse(XS_CUDA_ERROR_INVALID_VALUE, "0x%llx is mapped already", at);
    result = xs_sim_map(reservation, va, extent);
    if (result == XS_CUDA_SUCCESS)
        xs_sim_ledger_charge(XS_SIM_SYM_cuMemMap, 1);
    return result;
}

xs_cu_result xs_sim_do_cuMemUnmap(xs_cu_ptr va, size_t bytes)
{
    struct xs_sim_reservation *reservation;
    const xs_cu_result result = check_row(va, bytes, &reservation);
    if (result != XS_CUDA_SUCCESS)
        return result;
    xs_sim_queue_check_unused(va, bytes);
    xs_sim_ledger_charge(XS_SIM_SYM_cuMemUnmap, xs_sim_row_unmap(reservation, va, bytes));
    return XS_CUDA_SUCCESS;
}

static xs_cu_result check_access(const struct xs_cu_access_desc *desc)
{
    if (desc->location.type != XS_CU_LOCATION_DEVICE)
        return invalid("access is for devices only");
    if (desc->flags != XS_CU_ACCESS_NONE && desc->flags != XS_CU_ACCESS_READ &&
        desc->flags != XS_CU_ACCESS_READWRITE)
        return invalid("unknown access flags");
    return xs_sim_device_check(desc->location.id);
}

xs_cu_result xs_sim_do_cuMemSetAccess(xs_cu_ptr va, size_t bytes,
                                      const struct xs_cu_access_desc *desc, size_t count)
{
    struct xs_sim_reservation *reservation;
    xs_cu_result result = check_row(va, bytes, &reservation);
    if (result == XS_CUDA_SUCCESS && (!desc || count == 0))
        result = invalid("no access descriptors");
    for (size_t i = 0; i < count && result == XS_CUDA_SUCCESS; i++)
        result = check_access(&desc[i]);
    if (result != XS_CUDA_SUCCESS)
        return result;
    for (size_t i = 0; i < count; i++) {
        const size_t n =
            xs_sim_row_access(reservation, va, bytes, desc[i].location.id, desc[i].flags);
        xs_sim_ledger_charge(XS_SIM_SYM_cuMemSetAccess, n);
    }
    return XS_CUDA_SUCCESS;
}

xs_cu_result xs_sim_do_cuMemGetAccess(unsigned long long *flags, const struct xs_cu_location *where,
                                      xs_cu_ptr va)
{
    if (!xs_sim.config.vmm)
        return XS_CUDA_ERROR_NOT_SUPPORTED;
    if (!flags || !where || where->type != XS_CU_LOCATION_DEVICE)
        return invalid("NULL argument, or not a device");
    const xs_cu_result result = xs_sim_device_check(where->id);
    if (result != XS_CUDA_SUCCESS)
        return result;
    const struct xs_sim_mapping *mapping = xs_sim_mapping_of(va);
    if (!mapping)
        return xs_sim_misuse(XS_CUDA_ERROR_INVALID_VALUE, "0x%llx is not mapped", va);
    *flags = mapping->access[where->id];
    return XS_CUDA_SUCCESS;
}
