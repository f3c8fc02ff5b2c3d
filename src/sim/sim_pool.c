/* Pools of stream-ordered memory: each device has its default one, whose properties do nothing, and no other. */
#include "sim/sim_device.h"
#include "sim/sim_entry.h"
#include "sim/sim_ledger.h"
#include "sim/sim_state.h"

/* The address of a device's element is its default pool. */
static char pools[XS_SIM_MAX_DEVICES];

xs_cu_result xs_sim_do_cuDeviceGetDefaultMemPool(void **pool, xs_cu_device dev)
{
    const xs_cu_result result = xs_sim_device_check(dev);
    if (!pool)
        return xs_sim_misuse(XS_CUDA_ERROR_INVALID_VALUE, "NULL argument");
    if (result == XS_CUDA_SUCCESS)
        *pool = &pools[dev];
    return result;
}

static bool is_pool(const void *pool)
{
    for (size_t i = 0; i < xs_sim.config.devices; i++)
        if (pool == &pools[i])
            return true;
    return false;
}

xs_cu_result xs_sim_do_cuDeviceSetMemPool(xs_cu_device dev, void *pool)
{
    const xs_cu_result result = xs_sim_device_check(dev);
    if (result == XS_CUDA_SUCCESS && !is_pool(pool))
        return xs_sim_misuse(XS_CUDA_ERROR_INVALID_VALUE, "not a pool");
    return result;
}

xs_cu_result xs_sim_do_cuMemAllocFromPoolAsync(xs_cu_ptr *va, size_t bytes, void *pool,
                                               xs_cu_stream stream)
{
    if (!is_pool(pool))
        return xs_sim_misuse(XS_CUDA_ERROR_INVALID_VALUE, "not a pool");
    return xs_sim_do_cuMemAllocAsync(va, bytes, stream);
}
