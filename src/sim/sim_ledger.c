#include "sim/sim_ledger.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "sim/sim_control.h"
#include "sim/sim_cost.h"
#include "sim/sim_state.h"

void xs_sim_ledger_count(enum xs_sim_symbol symbol)
{
    xs_sim.ledger.calls[symbol]++;
    xs_sim.ledger.cost_ns[symbol] += xs_sim_cost_fixed(symbol);
}

xs_cu_result xs_sim_ledger_fault(enum xs_sim_symbol symbol)
{
    if (!xs_sim.ledger.fault.in || xs_sim.ledger.fault.symbol != symbol)
        return XS_CUDA_SUCCESS;
    return --xs_sim.ledger.fault.in ? XS_CUDA_SUCCESS : xs_sim.ledger.fault.code;
}

void xs_sim_ledger_charge(enum xs_sim_symbol symbol, uint64_t amount)
{
    xs_sim.ledger.cost_ns[symbol] += xs_sim_cost_of(symbol, amount);
}

void xs_sim_ledger_violation(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(xs_sim.ledger.last_violation, XS_SIM_TEXT_BYTES, format, args);
    va_end(args);
    xs_sim.ledger.violations++;
}

xs_cu_result xs_sim_misuse(xs_cu_result result, const char *format, ...)
{
    char text[XS_SIM_TEXT_BYTES - 64];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    xs_sim_ledger_violation("%s: %s", xs_sim_self()->call, text);
    return result;
}

/* The part of sim_control.h that reads the ledger. */

uint64_t xs_sim_cost_ns(void)
{
    uint64_t sum = 0;
    pthread_mutex_lock(&xs_sim.lock);
    for (size_t i = 0; i < XS_SIM_SYMBOLS; i++)
        sum += xs_sim.ledger.cost_ns[i];
    pthread_mutex_unlock(&xs_sim.lock);
    return sum;
}

uint64_t xs_sim_calls(const char *symbol)
{
    uint64_t calls = 0;
    pthread_mutex_lock(&xs_sim.lock);
    for (int i = 0; i < XS_SIM_SYMBOLS; i++)
        if (!strcmp(symbol, xs_sim_symbol_name((enum xs_sim_symbol)i)))
            calls = xs_sim.ledger.calls[i];
    pthread_mutex_unlock(&xs_sim.lock);
    return calls;
}

void xs_sim_fail(const char *symbol, uint64_t nth, xs_cu_result code)
{
    pthread_mutex_lock(&xs_sim.lock);
    xs_sim.ledger.fault.in = 0;
    for (int i = 0; i < XS_SIM_SYMBOLS; i++) {
        if (strcmp(symbol, xs_sim_symbol_name((enum xs_sim_symbol)i)) != 0)
            continue;
        xs_sim.ledger.fault.in = nth;
        xs_sim.ledger.fault.symbol = (enum xs_sim_symbol)i;
        xs_sim.ledger.fault.code = code;
    }
    pthread_mutex_unlock(&xs_sim.lock);
}

size_t xs_sim_violations(void)
{
    pthread_mutex_lock(&xs_sim.lock);
    const size_t n = xs_sim.ledger.violations;
    pthread_mutex_unlock(&xs_sim.lock);
    return n;
}

const char *xs_sim_last_violation(void)
{
    struct xs_sim_thread *self = xs_sim_self();
    pthread_mutex_lock(&xs_sim.lock);
    memcpy(self->text, xs_sim.ledger.last_violation, XS_SIM_TEXT_BYTES);
    pthread_mutex_unlock(&xs_sim.lock);
    return self->text;
}

void xs_sim_clear_violations(void)
{
    pthread_mutex_lock(&xs_sim.lock);
    xs_sim.ledger.violations = 0;
    xs_sim.ledger.last_violation[0] = '\0';
    pthread_mutex_unlock(&xs_sim.lock);
}
