#include "driver/driver_fault.h"

#include <stdatomic.h>
#include <string.h>
#include <time.h>

#define MAX_RULES 8

_Atomic bool xs_fault_armed;

static struct {
    struct xs_fault rule[MAX_RULES];
    _Atomic uint64_t seen_by[MAX_RULES]; /* calls that matched the rule so far */
    unsigned count;
    bool watch;
    _Atomic uint64_t seen;
    _Atomic uint64_t hits;
} faults;

static void arm(void)
{
    atomic_store(&xs_fault_armed, faults.count > 0 || faults.watch);
}

bool xs_fault_add(const struct xs_fault *fault)
{
    if (faults.count == MAX_RULES)
        return false;
    atomic_store(&faults.seen_by[faults.count], 0);
    faults.rule[faults.count++] = *fault;
    arm();
    return true;
}

void xs_fault_clear(void)
{
    faults.count = 0;
    faults.watch = false;
    atomic_store(&faults.seen, 0);
    atomic_store(&faults.hits, 0);
    arm();
}

uint64_t xs_fault_hits(void)
{
    return atomic_load(&faults.hits);
}

uint64_t xs_fault_seen(void)
{
    return atomic_load(&faults.seen);
}

void xs_fault_watch(bool on)
{
    faults.watch = on;
    arm();
}

static void sleep_ns(uint64_t ns)
{
    struct timespec t = {(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};
    while (ns && nanosleep(&t, &t) != 0)
        continue;
}

static bool rule_fires(unsigned i, enum xs_call call, size_t bytes)
{
    const struct xs_fault *rule = &faults.rule[i];
    if ((rule->call != XS_CALL_ANY && rule->call != call) || bytes < rule->min_bytes)
        return false;
    uint64_t n = atomic_fetch_add(&faults.seen_by[i], 1) + 1;
    return n >= rule->nth && n - rule->nth < rule->repeat;
}

/* Every rule counts every call, also one that an earlier rule fails; the first rule's code counts. */
xs_cu_result xs_fault_check(enum xs_call call, size_t bytes)
{
    xs_cu_result code = XS_CUDA_SUCCESS;
    atomic_fetch_add(&faults.seen, 1);
    for (unsigned i = 0; i < faults.count; i++) {
        if (!rule_fires(i, call, bytes))
            continue;
        sleep_ns(faults.rule[i].delay_ns);
        if (code == XS_CUDA_SUCCESS)
            code = faults.rule[i].code;
    }
    if (code != XS_CUDA_SUCCESS)
        atomic_fetch_add(&faults.hits, 1);
    return code;
}
