/*
 * Work that the program submits: sets, copies, host functions, and the kernels of sim_control.h.
 * The bytes move when the item runs, also for pageable host memory, which the real driver may have
 * read before the call returns.
 */
#include "sim/sim_capture.h"
#include "sim/sim_control.h"
#include "sim/sim_state.h"
#include "sim/sim_stream.h"

static struct xs_sim_use device_use(xs_cu_ptr va, size_t bytes, bool write)
{
    return (struct xs_sim_use){.va = va, .bytes = bytes, .device = true, .write = write};
}

static struct xs_sim_use host_use(const void *p, size_t bytes)
{
    return (struct xs_sim_use){.va = (uintptr_t)p, .bytes = bytes};
}

static xs_cu_result submit(struct xs_sim_item *item, xs_cu_stream stream)
{
    struct xs_sim_queue *queue;
    const xs_cu_result result = xs_sim_stream_queue(stream, &queue);
    if (result == XS_CUDA_SUCCESS)
        return xs_sim_stream_submit(queue, item);
    xs_sim_item_free(item);
    return result;
}

/* The forms without a stream: on the legacy stream, and waited for. */
static xs_cu_result submit_and_wait(struct xs_sim_item *item)
{
    xs_cu_result result = xs_sim_capture_forbids();
    if (result != XS_CUDA_SUCCESS) {
        xs_sim_item_free(item);
        return result;
    }
    result = submit(item, XS_CU_STREAM_LEGACY);
    return result == XS_CUDA_SUCCESS ? xs_sim_do_cuStreamSynchronize(XS_CU_STREAM_LEGACY) : result;
}

static struct xs_sim_item *set_item(xs_cu_ptr va, uint32_t value, size_t value_bytes, size_t n)
{
    struct xs_sim_item *item = xs_sim_item_new(XS_SIM_SET);
    item->use[0] = device_use(va, n * value_bytes, true);
    item->value = value;
    item->value_bytes = value_bytes;
    return item;
}

static struct xs_sim_item *copy_item(struct xs_sim_use to, struct xs_sim_use from)
{
    struct xs_sim_item *item = xs_sim_item_new(XS_SIM_COPY);
    item->use[0] = to;
    item->use[1] = from;
    return item;
}

xs_cu_result xs_sim_do_cuMemsetD8Async(xs_cu_ptr va, unsigned char value, size_t n,
                                       xs_cu_stream stream)
{
    return submit(set_item(va, value, 1, n), stream);
}

xs_cu_result xs_sim_do_cuMemsetD32Async(xs_cu_ptr va, unsigned value, size_t n, xs_cu_stream stream)
{
    if (va % 4 || n > SIZE_MAX / 4)
        return xs_sim_misuse(XS_CUDA_ERROR_INVALID_VALUE, "misaligned or too long");
    return submit(set_item(va, value, 4, n), stream);
}

xs_cu_result xs_sim_do_cuMemsetD8_v2(xs_cu_ptr va, unsigned char value, size_t n)
{
    return submit_and_wait(set_item(va, value, 1, n));
}

xs_cu_result xs_sim_do_cuMemsetD32_v2(xs_cu_ptr va, unsigned value, size_t n)
{
    if (va % 4 || n > SIZE_MAX / 4)
        return xs_sim_misuse(XS_CUDA_ERROR_INVALID_VALUE, "misaligned or too long");
    return submit_and_wait(set_item(va, value, 4, n));
}

xs_cu_result xs_sim_do_cuMemcpyDtoHAsync_v2(void *dst, xs_cu_ptr src, size_t bytes,
                                            xs_cu_stream stream)
{
    return submit(copy_item(host_use(dst, bytes), device_use(src, bytes, false)), stream);
}

xs_cu_result xs_sim_do_cuMemcpyHtoDAsync_v2(xs_cu_ptr dst, const void *src, size_t bytes,
                                            xs_cu_stream stream)
{
    return submit(copy_item(device_use(dst, bytes, true), host_use(src, bytes)), stream);
}

xs_cu_result xs_sim_do_cuMemcpyDtoDAsync_v2(xs_cu_ptr dst, xs_cu_ptr src, size_t bytes,
                                            xs_cu_stream stream)
{
    return submit(copy_item(device_use(dst, bytes, true), device_use(src, bytes, false)), stream);
}

xs_cu_result xs_sim_do_cuMemcpyDtoH_v2(void *dst, xs_cu_ptr src, size_t bytes)
{
    return submit_and_wait(copy_item(host_use(dst, bytes), device_use(src, bytes, false)));
}

xs_cu_result xs_sim_do_cuMemcpyHtoD_v2(xs_cu_ptr dst, const void *src, size_t bytes)
{
    return submit_and_wait(copy_item(device_use(dst, bytes, true), host_use(src, bytes)));
}

xs_cu_result xs_sim_do_cuMemcpyDtoD_v2(xs_cu_ptr dst, xs_cu_ptr src, size_t bytes)
{
    return submit_and_wait(copy_item(device_use(dst, bytes, true), device_use(src, bytes, false)));
}

xs_cu_result xs_sim_do_cuLaunchHostFunc(xs_cu_stream stream, xs_cu_host_fn fn, void *data)
{
    if (!fn)
        return xs_sim_misuse(XS_CUDA_ERROR_INVALID_VALUE, "NULL argument");
    struct xs_sim_item *item = xs_sim_item_new(XS_SIM_HOST_FN);
    item->fn = fn;
    item->data = data;
    return submit(item, stream);
}

xs_cu_result xs_sim_launch(xs_cu_stream stream, xs_cu_ptr va, size_t bytes)
{
    xs_sim_control_enter(__func__);
    struct xs_sim_item *item = xs_sim_item_new(XS_SIM_KERNEL);
    item->use[0] = device_use(va, bytes, true);
    const xs_cu_result result = submit(item, stream);
    xs_sim_control_leave();
    return result;
}
