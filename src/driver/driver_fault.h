/*
 * Fault injection: fail or delay the Nth call of an entry, or of any entry. For tests; a build
 * without a rule set pays one relaxed load a call. Not thread-safe while rules are being changed.
 */
#ifndef XS_DRIVER_DRIVER_FAULT_H
#define XS_DRIVER_DRIVER_FAULT_H

#include "driver/driver.h"

#define XS_CALL_ANY XS_CALL_COUNT

struct xs_fault {
    enum xs_call call; /* an entry, or XS_CALL_ANY for the Nth driver call of whatever kind */
    uint64_t nth;      /* 1 = the next one */
    uint64_t repeat;   /* how many calls from the nth on, at least 1 */
    size_t min_bytes;  /* only calls of at least this size (mem_create, mem_reserve, mem_alloc) */
    xs_cu_result code; /* returned instead of calling; XS_CUDA_SUCCESS: only delay */
    uint64_t delay_ns; /* slept before the call is made or failed */
};

/* Adds a rule; at most 8. Returns false when full. */
bool xs_fault_add(const struct xs_fault *fault);
void xs_fault_clear(void);
/* How many calls have been failed since xs_fault_clear(). */
uint64_t xs_fault_hits(void);
/* Calls of any entry that rules could have seen since xs_fault_clear(); counts only while rules exist
 * or xs_fault_watch(true). */
uint64_t xs_fault_seen(void);
void xs_fault_watch(bool on);

/* For driver.c: what is to happen to this call. Returns the code to fail with, or XS_CUDA_SUCCESS. */
extern _Atomic bool xs_fault_armed;
xs_cu_result xs_fault_check(enum xs_call call, size_t bytes);

#endif
