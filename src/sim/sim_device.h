/* The simulated devices: what they say of themselves. A device handle is its ordinal. */
#ifndef XS_SIM_SIM_DEVICE_H
#define XS_SIM_SIM_DEVICE_H

#include "sim/sim_abi.h"

/* SUCCESS if there is such a device; else a violation. */
xs_cu_result xs_sim_device_check(xs_cu_device dev);

#endif
