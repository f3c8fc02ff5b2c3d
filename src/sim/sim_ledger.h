/*
 * The ledger: calls and their cost by symbol, and the misuse that was seen. The caller holds the
 * simulator's lock.
 */
#ifndef XS_SIM_SIM_LEDGER_H
#define XS_SIM_SIM_LEDGER_H

#include <stdbool.h>

#include "base/base.h"
#include "sim/sim_entry.h"

#define XS_SIM_TEXT_BYTES 256

struct xs_sim_ledger {
    uint64_t calls[XS_SIM_SYMBOLS];
    uint64_t cost_ns[XS_SIM_SYMBOLS];
    uint64_t violations;
    char last_violation[XS_SIM_TEXT_BYTES];
    struct {
        uint64_t in; /* calls of the symbol until one fails; 0: none */
        enum xs_sim_symbol symbol;
        xs_cu_result code;
    } fault;
};

/* One call of `symbol` begins. */
void xs_sim_ledger_count(enum xs_sim_symbol symbol);

/* The code with which this call of the symbol has to fail, or success. */
xs_cu_result xs_sim_ledger_fault(enum xs_sim_symbol symbol);

/*
 * It went well, for `amount` bytes, handles or streams: the unit of the symbol's row in sim_cost.c.
 */
void xs_sim_ledger_charge(enum xs_sim_symbol symbol, uint64_t amount);

void xs_sim_ledger_violation(const char *format, ...) XS_PRINTF(1, 2);

/* Records a violation by the call in progress, "cuMemMap: ...", and returns `result` for it. */
xs_cu_result xs_sim_misuse(xs_cu_result result, const char *format, ...) XS_PRINTF(2, 3);

#endif
