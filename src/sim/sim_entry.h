/*
 * From a call to its body: the exported functions count the call, take the simulator's lock, refuse
 * what may not be called now, and run xs_sim_do_<symbol>() under the lock. A body lives in the file
 * of its noun.
 */
#ifndef XS_SIM_SIM_ENTRY_H
#define XS_SIM_SIM_ENTRY_H

#include <stddef.h>
#include <stdint.h>

#include "sim/sim_abi.h"
#include "sim/sim_entry_list.h"

enum xs_sim_symbol {
#define X(symbol, need, params, args) XS_SIM_SYM_##symbol,
    XS_SIM_ENTRY_LIST(X)
#undef X
        XS_SIM_SYMBOLS
};

#define X(symbol, need, params, args) xs_cu_result xs_sim_do_##symbol params;
XS_SIM_ENTRY_LIST(X)
#undef X

const char *xs_sim_symbol_name(enum xs_sim_symbol symbol);

#endif
