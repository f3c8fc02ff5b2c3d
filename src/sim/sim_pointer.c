/* Host memory known to the driver, and what the driver says of any pointer. */
#include <string.h>
#include <sys/mman.h>

#include "sim/sim_capture.h"
#include "sim/sim_extent.h"
#include "sim/sim_memory.h"
#include "sim/sim_state.h"

/* Owners in xs_sim.host_ranges: the program's memory, or ours. */
static char registered, allocated;

static xs_cu_result invalid(const char *why)
{
    return xs_sim_misuse(XS_CUDA_ERROR_INVALID_VALUE, "%s", why);
}

/* The host range that starts at `p` and has this owner, or NULL. */
static const struct xs_sim_range *host_range(const void *p, const char *owner)
{
    const struct xs_sim_range *range = xs_sim_ranges_find(&xs_sim.host_ranges, (uintptr_t)p);
    return range && range->va == (uintptr_t)p && range->owner == owner ? range : NULL;
}

xs_cu_result xs_sim_do_cuMemHostRegister_v2(void *p, size_t bytes, unsigned flags)
{
    (void)flags;
    if (!p || bytes == 0)
        return invalid("NULL argument or size 0");
    const xs_cu_result result = xs_sim_capture_forbids();
    if (result != XS_CUDA_SUCCESS)
        return result;
    if (xs_sim_ranges_overlap(&xs_sim.host_ranges, (uintptr_t)p, bytes))
        return xs_sim_misuse(XS_CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED, "%p + %zu", p, bytes);
    return xs_sim_ranges_insert(&xs_sim.host_ranges, (uintptr_t)p, bytes, &registered)
               ? XS_CUDA_SUCCESS
               : XS_CUDA_ERROR_OUT_OF_MEMORY;
}

xs_cu_result xs_sim_do_cuMemHostUnregister(void *p)
{
    const xs_cu_result result = xs_sim_capture_forbids();
    if (result != XS_CUDA_SUCCESS)
        return result;
    if (!host_range(p, &registered))
        return xs_sim_misuse(XS_CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED, "%p", p);
    xs_sim_ranges_remove(&xs_sim.host_ranges, (uintptr_t)p);
    return XS_CUDA_SUCCESS;
}

xs_cu_result xs_sim_do_cuMemHostAlloc(void **p, size_t bytes, unsigned flags)
{
    (void)flags;
    if (!p || bytes == 0)
        return invalid("NULL argument or size 0");
    const xs_cu_result result = xs_sim_capture_forbids();
    if (result != XS_CUDA_SUCCESS)
        return result;
    void *made = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (made == MAP_FAILED)
        return XS_CUDA_ERROR_OUT_OF_MEMORY;
    if (!xs_sim_ranges_insert(&xs_sim.host_ranges, (uintptr_t)made, bytes, &allocated)) {
        munmap(made, bytes);
        return XS_CUDA_ERROR_OUT_OF_MEMORY;
    }
    *p = made;
    return XS_CUDA_SUCCESS;
}

xs_cu_result xs_sim_do_cuMemFreeHost(void *p)
{
    const xs_cu_result result = xs_sim_capture_forbids();
    if (result != XS_CUDA_SUCCESS || !p)
        return result;
    const struct xs_sim_range *range = host_range(p, &allocated);
    if (!range)
        return xs_sim_misuse(XS_CUDA_ERROR_INVALID_VALUE, "%p is no allocation", p);
    munmap(p, range->bytes);
    xs_sim_ranges_remove(&xs_sim.host_ranges, (uintptr_t)p);
    return XS_CUDA_SUCCESS;
}

xs_cu_result xs_sim_do_cuMemHostGetDevicePointer_v2(xs_cu_ptr *va, void *p, unsigned flags)
{
    if (!va || flags || !xs_sim_ranges_find(&xs_sim.host_ranges, (uintptr_t)p))
        return invalid("NULL argument, flags, or not host memory of the driver");
    *va = (uintptr_t)p;
    return XS_CUDA_SUCCESS;
}

struct pointer { /* what is known of an address */
    int memory;  /* XS_CU_MEMORY_*, 0: nothing */
    int device;
    struct xs_sim_context *ctx; /* NULL for memory of VMM calls */
    xs_cu_ptr base;
    size_t bytes;
};

static struct pointer host_pointer(xs_cu_ptr va)
{
    const struct xs_sim_range *range = xs_sim_ranges_find(&xs_sim.host_ranges, va);
    if (!range)
        return (struct pointer){0};
    return (struct pointer){XS_CU_MEMORY_HOST, 0, xs_sim_context_current(), range->va,
                            range->bytes};
}

/* Memory of VMM calls is known by the handle, not by reservation or block. */
static struct pointer look_up(xs_cu_ptr va)
{
    struct pointer found = {0};
    found.ctx = xs_sim_block_at(va, &found.base, &found.bytes);
    if (found.ctx) {
        found.memory = XS_CU_MEMORY_DEVICE;
        found.device = found.ctx->device;
        return found;
    }
    const struct xs_sim_mapping *mapping = xs_sim_mapping_of(va);
    if (!mapping || mapping->extent->for_alloc)
        return host_pointer(va);
    const struct xs_sim_extent *extent = mapping->extent;
    return (struct pointer){XS_CU_MEMORY_DEVICE, extent->device, NULL, mapping->va, extent->bytes};
}

/* Asking about any pointer is how programs find out what it is: refused, but no violation. */
xs_cu_result xs_sim_do_cuMemGetAddressRange_v2(xs_cu_ptr *base, size_t *bytes, xs_cu_ptr va)
{
    const struct pointer found = look_up(va);
    if (found.memory != XS_CU_MEMORY_DEVICE)
        return XS_CUDA_ERROR_NOT_FOUND;
    if (base)
        *base = found.base;
    if (bytes)
        *bytes = found.bytes;
    return XS_CUDA_SUCCESS;
}

xs_cu_result xs_sim_do_cuPointerGetAttribute(void *data, int attr, xs_cu_ptr va)
{
    const struct pointer found = look_up(va);
    if (!data)
        return invalid("NULL argument");
    if (!found.memory)
        return XS_CUDA_ERROR_INVALID_VALUE;
    if (attr == XS_CU_POINTER_CONTEXT)
        *(xs_cu_context *)data = (xs_cu_context)found.ctx;
    else if (attr == XS_CU_POINTER_MEMORY_TYPE)
        *(unsigned *)data = (unsigned)found.memory;
    else if (attr == XS_CU_POINTER_DEVICE_POINTER || attr == XS_CU_POINTER_HOST_POINTER)
        *(xs_cu_ptr *)data = va;
    else if (attr == XS_CU_POINTER_IS_MANAGED)
        *(unsigned *)data = 0;
    else if (attr == XS_CU_POINTER_DEVICE_ORDINAL)
        *(int *)data = found.device;
    else if (attr == XS_CU_POINTER_RANGE_START)
        *(xs_cu_ptr *)data = found.base;
    else if (attr == XS_CU_POINTER_RANGE_SIZE)
        *(size_t *)data = found.bytes;
    else if (attr == XS_CU_POINTER_MAPPED)
        *(unsigned *)data = 1;
    else
        return XS_CUDA_ERROR_NOT_SUPPORTED;
    return XS_CUDA_SUCCESS;
}

/* What is not known of the pointer is 0; only an attribute that there is not is refused. */
xs_cu_result xs_sim_do_cuPointerGetAttributes(unsigned n, int *attrs, void **data, xs_cu_ptr va)
{
    if (!n || !attrs || !data)
        return invalid("NULL argument or no attributes");
    for (unsigned i = 0; i < n; i++) {
        xs_cu_result code = xs_sim_do_cuPointerGetAttribute(data[i], attrs[i], va);
        if (code == XS_CUDA_ERROR_NOT_SUPPORTED)
            return code;
        if (code)
            memset(data[i], 0, attrs[i] == XS_CU_POINTER_RANGE_SIZE ? sizeof(size_t) : sizeof(int));
    }
    return XS_CUDA_SUCCESS;
}
