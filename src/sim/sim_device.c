#include "sim/sim_device.h"

#include <stdio.h>

#include "sim/sim_state.h"

#define DRIVER_VERSION 13000

static xs_cu_result null_argument(void)
{
    return xs_sim_misuse(XS_CUDA_ERROR_INVALID_VALUE, "NULL argument");
}

xs_cu_result xs_sim_device_check(xs_cu_device dev)
{
    if (dev >= 0 && (size_t)dev < xs_sim.config.devices)
        return XS_CUDA_SUCCESS;
    return xs_sim_misuse(XS_CUDA_ERROR_INVALID_DEVICE, "there is no device %d", dev);
}

xs_cu_result xs_sim_do_cuInit(unsigned flags)
{
    if (flags != 0)
        return xs_sim_misuse(XS_CUDA_ERROR_INVALID_VALUE, "flags must be 0");
    if (xs_sim.initialised)
        return XS_CUDA_SUCCESS;
    if (!xs_sim_config_read(&xs_sim.config))
        return XS_CUDA_ERROR_INVALID_VALUE;
    if (xs_sim.config.devices == 0)
        return XS_CUDA_ERROR_NO_DEVICE;
    for (size_t i = 0; i < xs_sim.config.devices; i++)
        xs_sim_physical_init(&xs_sim.physical[i], xs_sim.config.capacity);
    xs_sim.initialised = true;
    return XS_CUDA_SUCCESS;
}

xs_cu_result xs_sim_do_cuDriverGetVersion(int *version)
{
    if (!version)
        return null_argument();
    *version = DRIVER_VERSION;
    return XS_CUDA_SUCCESS;
}

xs_cu_result xs_sim_do_cuDeviceGetCount(int *count)
{
    if (!count)
        return null_argument();
    *count = (int)xs_sim.config.devices;
    return XS_CUDA_SUCCESS;
}

xs_cu_result xs_sim_do_cuDeviceGet(xs_cu_device *dev, int ordinal)
{
    if (!dev)
        return null_argument();
    const xs_cu_result result = xs_sim_device_check(ordinal);
    if (result == XS_CUDA_SUCCESS)
        *dev = ordinal;
    return result;
}

xs_cu_result xs_sim_do_cuDeviceGetName(char *name, int len, xs_cu_device dev)
{
    if (!name || len <= 0)
        return null_argument();
    const xs_cu_result result = xs_sim_device_check(dev);
    if (result == XS_CUDA_SUCCESS)
        snprintf(name, (size_t)len, "xseg simulated device");
    return result;
}

xs_cu_result xs_sim_do_cuDeviceTotalMem_v2(size_t *bytes, xs_cu_device dev)
{
    if (!bytes)
        return null_argument();
    const xs_cu_result result = xs_sim_device_check(dev);
    if (result == XS_CUDA_SUCCESS)
        *bytes = xs_sim.config.capacity;
    return result;
}

/* Attributes that are not 0; those that depend on the settings are handled by the caller. */
static int fixed_attribute(int attr)
{
    static const int rows[][2] = {
        {XS_CU_ATTR_MAX_THREADS_PER_BLOCK, 1024}, {XS_CU_ATTR_WARP_SIZE, 32},
        {XS_CU_ATTR_MULTIPROCESSOR_COUNT, 132},   {XS_CU_ATTR_UNIFIED_ADDRESSING, 1},
        {XS_CU_ATTR_COMPUTE_CAPABILITY_MAJOR, 9}, {XS_CU_ATTR_COMPUTE_CAPABILITY_MINOR, 0},
        {XS_CU_ATTR_HOST_REGISTER_SUPPORTED, 1},  {XS_CU_ATTR_MEMORY_POOLS_SUPPORTED, 1},
    };
    for (size_t i = 0; i < XS_COUNT_OF(rows); i++)
        if (rows[i][0] == attr)
            return rows[i][1];
    return 0;
}

static bool follows_vmm(int attr)
{
    return attr == XS_CU_ATTR_VMM_SUPPORTED || attr == XS_CU_ATTR_HANDLE_POSIX_FD_SUPPORTED ||
           attr == XS_CU_ATTR_RDMA_WITH_VMM_SUPPORTED;
}

xs_cu_result xs_sim_do_cuDeviceGetAttribute(int *value, int attr, xs_cu_device dev)
{
    if (!value)
        return null_argument();
    const xs_cu_result result = xs_sim_device_check(dev);
    if (result != XS_CUDA_SUCCESS)
        return result;
    if (attr <= 0 || attr > XS_CU_ATTR_LAST)
        return xs_sim_misuse(XS_CUDA_ERROR_INVALID_VALUE, "there is no attribute %d", attr);
    *value = follows_vmm(attr) ? (int)xs_sim.config.vmm : fixed_attribute(attr);
    return XS_CUDA_SUCCESS;
}

xs_cu_result xs_sim_do_cuDeviceCanAccessPeer(int *can, xs_cu_device dev, xs_cu_device peer)
{
    if (!can)
        return null_argument();
    xs_cu_result result = xs_sim_device_check(dev);
    if (result == XS_CUDA_SUCCESS)
        result = xs_sim_device_check(peer);
    if (result == XS_CUDA_SUCCESS)
        *can = dev != peer;
    return result;
}
