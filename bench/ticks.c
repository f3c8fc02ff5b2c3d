#include "bench/ticks.h"

#define CALIBRATION_NS 20000000u

double xs_ticks_ns(void)
{
    static double ns_per_tick;
    if (ns_per_tick > 0)
        return ns_per_tick;
    uint64_t begin_ns = xs_bench_now_ns();
    uint64_t begin = xs_ticks();
    uint64_t end_ns;
    do
        end_ns = xs_bench_now_ns();
    while (end_ns - begin_ns < CALIBRATION_NS);
    ns_per_tick = (double)(end_ns - begin_ns) / (double)(xs_ticks() - begin);
    return ns_per_tick;
}
