/* cuMemAlloc and its relatives. What is odd about a call is the driver's to judge: it gets it as it is. */
#include "base/log.h"
#include "core/inside.h"
#include "core/runtime.h"
#include "ipc/ipc_import.h"
#include "preload/door.h"
#include "preload/give_back.h"
#include "preload/report.h"
#include "preload/serve.h"

#define PITCH_ALIGNMENT 512

/* Where the calling thread is, if it is a place that xseg can serve. */
static struct xs_here *enter(void)
{
    struct xs_here *here;
    return xs_door_is_open() && !xs_here_enter(&here) && here->dev ? here : NULL;
}

/* Who has left memory to the driver gets its answers; this one, which ends the capture, is explained once. */
static void explain(xs_cu_result code)
{
    static _Atomic bool is_said;
    if (code == XS_CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED && xs_door_is_open() &&
        !atomic_exchange(&is_said, true))
        xs_log("the driver refuses cudaMalloc while a stream captures; memory that xseg serves "
               "can be had then");
}

static xs_cu_result alloc_native(xs_cu_ptr *va, size_t bytes)
{
    xs_cu_result code = xs_native_cuMemAlloc_v2(va, bytes);
    if (xs_give_back_for(code))
        code = xs_native_cuMemAlloc_v2(va, bytes);
    if (!code)
        xs_report_note_native(bytes);
    explain(code);
    return code;
}

xs_cu_result cuMemAlloc_v2(xs_cu_ptr *va, size_t bytes)
{
    struct xs_here *here = va && bytes ? enter() : NULL;
    if (!here)
        return alloc_native(va, bytes);
    here->settled = true;
    enum xs_served served = xs_serve_alloc(here, va, bytes);
    return served == XS_SERVED_NOT ? alloc_native(va, bytes) : xs_served_code(served);
}

/* Without a context the driver answers even for what is ours, and so it does once it has shut down. */
xs_cu_result cuMemFree_v2(xs_cu_ptr va)
{
    struct xs_here *here;
    if (!va || !xs_door_is_open())
        return xs_native_cuMemFree_v2(va);
    xs_cu_result code = xs_here_enter(&here);
    if (code)
        return xs_serve_is_ours(va) ? code : xs_native_cuMemFree_v2(va);
    here->settled = true;
    return xs_serve_free(va, &code) == XS_SERVED ? code : xs_native_cuMemFree_v2(va);
}

static xs_cu_result pitch_native(xs_cu_ptr *va, size_t *pitch, size_t width, size_t height,
                                 unsigned element)
{
    xs_cu_result code = xs_native_cuMemAllocPitch_v2(va, pitch, width, height, element);
    return xs_give_back_for(code) ? xs_native_cuMemAllocPitch_v2(va, pitch, width, height, element)
                                  : code;
}

xs_cu_result cuMemAllocPitch_v2(xs_cu_ptr *va, size_t *pitch, size_t width, size_t height,
                                unsigned element)
{
    size_t row, bytes;
    bool plain = va && pitch && width && height &&
                 (element == 4 || element == 8 || element == 16) &&
                 !__builtin_add_overflow(width, PITCH_ALIGNMENT - 1, &row);
    row = plain ? row / PITCH_ALIGNMENT * PITCH_ALIGNMENT : 0;
    struct xs_here *here = plain && !__builtin_mul_overflow(row, height, &bytes) ? enter() : NULL;
    if (!here)
        return pitch_native(va, pitch, width, height, element);
    enum xs_served served = xs_serve_alloc(here, va, bytes);
    if (served == XS_SERVED_NOT)
        return pitch_native(va, pitch, width, height, element);
    if (served == XS_SERVED)
        *pitch = row;
    return xs_served_code(served);
}

/* ---- questions ------------------------------------------------------------------------------ */

xs_cu_result cuMemGetInfo_v2(size_t *free_bytes, size_t *total_bytes)
{
    struct xs_here *here = free_bytes && total_bytes ? enter() : NULL;
    size_t free_now, total;
    if (!here || here->native_info || xseg_memory_info(here->ordinal, &free_now, &total))
        return xs_native_cuMemGetInfo_v2(free_bytes, total_bytes);
    *free_bytes = free_now;
    *total_bytes = total;
    return XS_CUDA_SUCCESS;
}

static bool find_range(xs_cu_ptr va, xs_cu_ptr *base, size_t *bytes)
{
    if (!xs_door_is_open() || xs_runtime_is_over())
        return false;
    if (!xseg_pointer_sizes((const void *)(uintptr_t)va, bytes, NULL)) {
        *base = va;
        return true;
    }
    if (xs_ipc_range(va, base, bytes))
        return true;
    struct xs_inside inside = xs_inside_find(va);
    *base = inside.va;
    *bytes = inside.requested;
    return inside.requested != 0;
}

xs_cu_result cuMemGetAddressRange_v2(xs_cu_ptr *base, size_t *bytes, xs_cu_ptr va)
{
    xs_cu_ptr start;
    size_t size;
    if (!va || !find_range(va, &start, &size))
        return xs_native_cuMemGetAddressRange_v2(base, bytes, va);
    if (base)
        *base = start;
    if (bytes)
        *bytes = size;
    return XS_CUDA_SUCCESS;
}

/* CUpointer_attribute */
enum { RANGE_START = 11, RANGE_SIZE = 12 };

static bool is_of_range(int attribute)
{
    return attribute == RANGE_START || attribute == RANGE_SIZE;
}

static void write_range(void *data, int attribute, xs_cu_ptr start, size_t size)
{
    if (attribute == RANGE_START)
        *(xs_cu_ptr *)data = start;
    else
        *(size_t *)data = size;
}

xs_cu_result cuPointerGetAttribute(void *data, int attribute, xs_cu_ptr va)
{
    xs_cu_ptr start;
    size_t size;
    if (!data || !va || !is_of_range(attribute) || !find_range(va, &start, &size))
        return xs_native_cuPointerGetAttribute(data, attribute, va);
    write_range(data, attribute, start, size);
    return XS_CUDA_SUCCESS;
}

xs_cu_result cuPointerGetAttributes(unsigned n, int *attributes, void **data, xs_cu_ptr va)
{
    xs_cu_ptr start;
    size_t size;
    xs_cu_result code = xs_native_cuPointerGetAttributes(n, attributes, data, va);
    for (unsigned i = 0; !code && i < n; i++)
        if (is_of_range(attributes[i]) && va && find_range(va, &start, &size))
            write_range(data[i], attributes[i], start, size);
    return code;
}
