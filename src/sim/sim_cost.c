/*
 * The cost table: medians, host side, one NVIDIA H200, driver 580.159, CUDA 13.0. A call costs its
 * fixed part, whether it succeeds or not, and where it succeeds a part read off its curve. Between
 * the points of a curve the cost is interpolated, beyond the last one extrapolated.
 */
#include "sim/sim_cost.h"

#include "base/base.h"

static const uint32_t fixed_ns[XS_SIM_SYMBOLS] = {
#define COST(symbol, ns) [XS_SIM_SYM_##symbol] = (ns)
    COST(cuMemAddressReserve, 10000), COST(cuMemFree_v2, 44000),     COST(cuMemGetInfo_v2, 7500),
    COST(cuPointerGetAttribute, 80),  COST(cuMemAllocAsync, 730),    COST(cuMemFreeAsync, 730),
    COST(cuEventRecord, 380),         COST(cuEventQuery, 330),       COST(cuStreamWaitEvent, 40),
    COST(cuCtxRecordEvent, 300),      COST(cuStreamIsCapturing, 30), COST(cuStreamGetId, 18),
    COST(cuCtxGetCurrent, 13),        COST(cuCtxGetDevice, 17),
#undef COST
};

struct point {
    uint64_t amount;
    uint64_t ns;
};

static const struct point curves[XS_SIM_SYMBOLS][6] = {
    /* bytes of the handle */
    [XS_SIM_SYM_cuMemCreate] = {{0, 15500},
                                {128 * XS_MIB, 15500},
                                {256 * XS_MIB, 20000},
                                {512 * XS_MIB, 26000},
                                {XS_GIB, 125000}},
    [XS_SIM_SYM_cuMemRelease] = {{0, 15650},
                                 {2 * XS_MIB, 17000},
                                 {128 * XS_MIB, 102000},
                                 {2 * XS_GIB, 1800000}},
    /* handles */
    [XS_SIM_SYM_cuMemMap] = {{0, 0}, {1, 1300}},
    [XS_SIM_SYM_cuMemSetAccess] = {{0, 0}, {1, 36000}},
    [XS_SIM_SYM_cuMemUnmap] = {{0, 0}, {1, 23000}},
    /* bytes */
    [XS_SIM_SYM_cuMemAlloc_v2] = {{0, 54000}, {20 * XS_MIB, 54000}, {2 * XS_GIB, 250000}},
    /* busy streams: 8.5 us with 16 */
    [XS_SIM_SYM_cuCtxRecordEvent] = {{0, 0}, {1, 512}},
};

static size_t count_points(const struct point *curve)
{
    size_t n = 0;
    while (n < XS_COUNT_OF(curves[0]) && (n == 0 || curve[n].amount))
        n++;
    return n;
}

uint64_t xs_sim_cost_fixed(enum xs_sim_symbol symbol)
{
    return fixed_ns[symbol];
}

uint64_t xs_sim_cost_of(enum xs_sim_symbol symbol, uint64_t amount)
{
    const struct point *curve = curves[symbol];
    const size_t n = count_points(curve);
    if (n < 2)
        return curve[0].ns;
    size_t i = 1;
    while (i < n - 1 && curve[i].amount < amount)
        i++;
    const struct point low = curve[i - 1], high = curve[i];
    const double share = (double)(amount - low.amount) / (double)(high.amount - low.amount);
    return low.ns + (uint64_t)(share * (double)(high.ns - low.ns));
}
