/*
 * Stream-ordered memory. A capturing stream's requests are nodes of its graph, and the driver's; so are those of
 * a pool of the program's own, whose properties and accounting only the driver knows.
 */
#include "driver/driver.h"
#include "preload/capture.h"
#include "preload/door.h"
#include "preload/give_back.h"
#include "preload/order.h"
#include "preload/serve.h"

/* Devices whose cuMemAllocAsync is the driver's from now on; a set of ordinals. */
static _Atomic uint64_t left_to_driver;

static bool is_left_to_driver(int ordinal)
{
    return atomic_load_explicit(&left_to_driver, memory_order_relaxed) >> (ordinal & 63) & 1;
}

/* Requests on a stream of another context than the current one are rare, and left to the driver. */
static bool is_of_context(xs_cu_stream stream, xs_cu_context context)
{
    typedef xs_cu_result (*get_context)(xs_cu_stream stream, xs_cu_context * context);
    static _Atomic(get_context) ask;
    if (!stream || stream == XS_CU_STREAM_LEGACY || stream == XS_CU_STREAM_PER_THREAD)
        return true;
    get_context fn = atomic_load_explicit(&ask, memory_order_acquire);
    if (xs_unlikely(!fn)) {
        *(void **)&fn = xs_door_driver_symbol("cuStreamGetCtx");
        atomic_store_explicit(&ask, fn, memory_order_release);
    }
    xs_cu_context of_stream;
    return fn && fn(stream, &of_stream) == XS_CUDA_SUCCESS && of_stream == context;
}

/* Drivers that number no streams cannot tell one whose handle has come back from the one before. */
static bool has_identity(xs_cu_stream stream)
{
    return !stream || stream == XS_CU_STREAM_LEGACY || stream == XS_CU_STREAM_PER_THREAD ||
           xs_driver_has(XS_CALL_stream_get_id);
}

static bool can_serve(const struct xs_here *here, xs_cu_stream stream)
{
    return here->dev && !is_left_to_driver(here->ordinal) && has_identity(stream) &&
           is_of_context(stream, here->context) && !xs_capture_has(stream);
}

static enum xs_served serve(xs_cu_ptr *va, size_t bytes, xs_cu_stream stream)
{
    struct xs_here *here;
    if (!va || !bytes || !xs_door_is_open() || xs_here_enter(&here) || !can_serve(here, stream))
        return XS_SERVED_NOT;
    return xs_serve_alloc_on(here, va, bytes, stream);
}

/* False: the driver has to answer. */
static bool serve_free(xs_cu_ptr va, xs_cu_stream stream, xs_cu_result *code)
{
    struct xs_here *here;
    if (!va || !xs_door_is_open())
        return false;
    *code = xs_here_enter(&here);
    if (*code)
        return xs_serve_is_ours(va);
    if (xs_capture_has(stream))
        return false;
    return xs_serve_free_on(va, stream, code) == XS_SERVED;
}

static xs_cu_stream or_own(xs_cu_stream stream)
{
    return stream ? stream : XS_CU_STREAM_PER_THREAD;
}

/* One entry: served, or refused, or the driver's with a second try; `ours`: its stream as the library knows it. */
#define DEFINE_ALLOC(symbol, params, args, ours)                                                   \
    xs_cu_result symbol params                                                                     \
    {                                                                                              \
        enum xs_served served = ours;                                                              \
        if (served != XS_SERVED_NOT)                                                               \
            return xs_served_code(served);                                                         \
        xs_cu_result code = xs_native_##symbol args;                                               \
        return xs_give_back_for(code) ? xs_native_##symbol args : code;                            \
    }

DEFINE_ALLOC(cuMemAllocAsync, (xs_cu_ptr * va, size_t bytes, xs_cu_stream stream),
             (va, bytes, stream), serve(va, bytes, stream))
DEFINE_ALLOC(cuMemAllocAsync_ptsz, (xs_cu_ptr * va, size_t bytes, xs_cu_stream stream),
             (va, bytes, stream), serve(va, bytes, or_own(stream)))

xs_cu_result cuMemFreeAsync(xs_cu_ptr va, xs_cu_stream stream)
{
    xs_cu_result code;
    return serve_free(va, stream, &code) ? code : xs_native_cuMemFreeAsync(va, stream);
}

xs_cu_result cuMemFreeAsync_ptsz(xs_cu_ptr va, xs_cu_stream stream)
{
    xs_cu_result code;
    return serve_free(va, or_own(stream), &code) ? code : xs_native_cuMemFreeAsync_ptsz(va, stream);
}

/* ---- pools ---------------------------------------------------------------------------------- */

static void *default_pool(int ordinal)
{
    typedef xs_cu_result (*get_pool)(void **pool, xs_cu_device device);
    void *pool = NULL;
    get_pool fn;
    *(void **)&fn = xs_door_driver_symbol("cuDeviceGetDefaultMemPool");
    return fn && fn(&pool, ordinal) == XS_CUDA_SUCCESS ? pool : NULL;
}

static bool is_default_pool(void *pool)
{
    struct xs_here *here;
    return pool && xs_door_is_open() && !xs_here_enter(&here) &&
           pool == default_pool(here->ordinal);
}

static enum xs_served serve_pool(xs_cu_ptr *va, size_t bytes, void *pool, xs_cu_stream stream)
{
    return is_default_pool(pool) ? serve(va, bytes, stream) : XS_SERVED_NOT;
}

DEFINE_ALLOC(cuMemAllocFromPoolAsync,
             (xs_cu_ptr * va, size_t bytes, void *pool, xs_cu_stream stream),
             (va, bytes, pool, stream), serve_pool(va, bytes, pool, stream))
DEFINE_ALLOC(cuMemAllocFromPoolAsync_ptsz,
             (xs_cu_ptr * va, size_t bytes, void *pool, xs_cu_stream stream),
             (va, bytes, pool, stream), serve_pool(va, bytes, pool, or_own(stream)))

static void leave_to_driver(int ordinal, bool leave)
{
    uint64_t bit = (uint64_t)1 << (ordinal & 63);
    if (leave)
        atomic_fetch_or(&left_to_driver, bit);
    else
        atomic_fetch_and(&left_to_driver, ~bit);
}

xs_cu_result cuDeviceSetMemPool(xs_cu_device device, void *pool)
{
    xs_cu_result code = xs_native_cuDeviceSetMemPool(device, pool);
    if (!code && xs_door_is_open())
        leave_to_driver(device, pool != default_pool(device));
    return code;
}

xs_cu_result cuMemSetMemPool(void *location, int type, void *pool)
{
    const struct xs_cu_location *where = location;
    xs_cu_result code = xs_native_cuMemSetMemPool(location, type, pool);
    if (!code && xs_door_is_open() && where->type == XS_CU_LOCATION_DEVICE &&
        type == XS_CU_ALLOCATION_PINNED)
        leave_to_driver(where->id, pool != default_pool(where->id));
    return code;
}

xs_cu_result cuMemPoolSetAccess(void *pool, const void *access, size_t count)
{
    xs_cu_result code = xs_native_cuMemPoolSetAccess(pool, access, count);
    struct xs_here *here;
    if (!code && is_default_pool(pool) && !xs_here_enter(&here))
        leave_to_driver(here->ordinal, true);
    return code;
}
