#include "driver/caps.h"

#include <string.h>

#include "base/error.h"
#include "driver/driver.h"

#define FALLBACK_GRANULE (2 * XS_MIB)

/* An attribute that the driver does not know is one that the device does not have. */
static bool has_attribute(xs_cu_device device, int attribute)
{
    int value = 0;
    return xs_cu_device_attribute(&value, attribute, device) == XS_CUDA_SUCCESS && value != 0;
}

static xs_cu_result query_granule(struct xs_caps *caps)
{
    struct xs_cu_alloc_prop prop = {.type = XS_CU_ALLOCATION_PINNED,
                                    .location = {XS_CU_LOCATION_DEVICE, caps->device}};
    return xs_cu_mem_granularity(&caps->granule, &prop, XS_CU_GRANULARITY_MINIMUM);
}

enum xseg_result xs_caps_query(int ordinal, struct xs_caps *caps)
{
    memset(caps, 0, sizeof(*caps));
    caps->ordinal = ordinal;
    int count = 0;
    xs_cu_result code = xs_cu_device_count(&count);
    if (code)
        return xs_driver_result(code);
    if (ordinal < 0 || ordinal >= count)
        return xs_fail(XSEG_ERROR_NO_DEVICE, "there is no device %d: the driver has %d", ordinal,
                       count);
    if ((code = xs_cu_device_get(&caps->device, ordinal)) ||
        (code = xs_cu_device_total_mem(&caps->total_bytes, caps->device)) ||
        (code = xs_cu_device_name(caps->name, sizeof(caps->name) - 1, caps->device)))
        return xs_driver_result(code);
    caps->vmm = xs_driver_has_vmm() && has_attribute(caps->device, XS_CU_ATTR_VMM_SUPPORTED) &&
                query_granule(caps) == XS_CUDA_SUCCESS;
    if (!caps->vmm) {
        caps->granule = FALLBACK_GRANULE;
        return XSEG_OK;
    }
    caps->posix_fd = has_attribute(caps->device, XS_CU_ATTR_HANDLE_POSIX_FD_SUPPORTED);
    caps->fabric = has_attribute(caps->device, XS_CU_ATTR_HANDLE_FABRIC_SUPPORTED);
    caps->rdma = has_attribute(caps->device, XS_CU_ATTR_RDMA_WITH_VMM_SUPPORTED);
    return XSEG_OK;
}
