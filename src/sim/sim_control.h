/*
 * Control of the simulator: what a test or a benchmark may do to the simulated driver beside
 * calling it. Exported by sim/libcuda.so.1; reach the functions with dlsym, or link the library.
 * Thread-safe. None of these counts as a driver call, and none may be called from a host function.
 *
 * Time. A created or default stream is "auto": its work runs inside the call that submits it,
 * unless it has to wait for an event that is still pending. A "manual" stream keeps work items
 * until the test advances it, or until a call waits for them (cuStreamSynchronize,
 * cuEventSynchronize, cuMemFree, ...): waiting runs exactly the items that are waited for, and what
 * those depend on, so nothing hangs. Only work is an item: a kernel, a copy, a set, a host
 * function, a stream-ordered free. Event records and waits take no time and pass by themselves as
 * soon as everything before them has run.
 */
#ifndef XS_SIM_SIM_CONTROL_H
#define XS_SIM_SIM_CONTROL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "driver/cuda_abi.h"

#define XS_SIM_API __attribute__((visibility("default")))

/* What exists now. Memory that cuMemAlloc made counts under allocs only. */
struct xs_sim_live {
    size_t handles; /* created and not yet released */
    size_t handle_bytes;
    size_t mappings;
    size_t reservations;
    size_t reserved_bytes;
    size_t allocs; /* cuMemAlloc, cuMemAllocAsync */
    size_t alloc_bytes;
    size_t events;
    size_t streams;  /* created and not destroyed; default streams do not count */
    size_t contexts; /* a retained primary context counts as one */
    size_t graphs;   /* graphs and executable graphs */
    size_t host_ranges;
    size_t used_bytes; /* physical memory in use, all devices */
};

/* What a real driver would have taken for all calls so far, from the table in sim_cost.c. */
XS_SIM_API uint64_t xs_sim_cost_ns(void);

/* Calls of one symbol ("cuMemMap"), failed ones included; 0 for a name that is not exported. */
XS_SIM_API uint64_t xs_sim_calls(const char *symbol);

/*
 * The nth call of the symbol from now on (1: the next one) fails with this code, once, and does nothing. The latest
 * rule counts; nth 0: none. For programs that the library's own fault injection does not reach.
 */
XS_SIM_API void xs_sim_fail(const char *symbol, uint64_t nth, xs_cu_result code);

/*
 * A kernel that reads and writes [va, va + bytes) when it runs. Recorded when the stream captures.
 */
XS_SIM_API xs_cu_result xs_sim_launch(xs_cu_stream stream, xs_cu_ptr va, size_t bytes);

XS_SIM_API xs_cu_result xs_sim_stream_manual(xs_cu_stream stream, bool manual);

/*
 * Runs up to `n` items of a stream (SIZE_MAX: all), less if it comes to an event that is pending.
 * Returns how many ran.
 */
XS_SIM_API size_t xs_sim_stream_advance(xs_cu_stream stream, size_t n);

/* The same by cuStreamGetId, which also reaches a stream that was destroyed while busy. */
XS_SIM_API size_t xs_sim_stream_advance_id(unsigned long long id, size_t n);

/*
 * Which byte of physical memory lies at the address; the next *bytes - 1 come behind it. An extent that is mapped twice
 * has each of its bytes at two addresses. 0, and *bytes 0: nothing is mapped there.
 */
XS_SIM_API uint64_t xs_sim_physical(xs_cu_ptr va, size_t *bytes);

/*
 * The GPU goes on while a program asks for it: an event that cuEventQuery has answered so often in vain is come to by the
 * next one. 0, as at first: never.
 */
XS_SIM_API void xs_sim_reach_after(unsigned queries);

/* Items that have not run yet, of all streams. */
XS_SIM_API size_t xs_sim_queued(void);

/*
 * Misuse of the driver since the start or the last clear, and the text of the latest ("" if none).
 */
XS_SIM_API size_t xs_sim_violations(void);
XS_SIM_API const char *xs_sim_last_violation(void); /* valid until the thread's next call of this */
XS_SIM_API void xs_sim_clear_violations(void);

XS_SIM_API void xs_sim_live(struct xs_sim_live *out);

/*
 * A hash of what the driver holds: handles, mappings and their access, reservations, allocations,
 * registered host ranges, number of events and bytes in use. Handle values and addresses are part
 * of it, so equal digests before and after a failed call prove that it left nothing behind.
 */
XS_SIM_API uint64_t xs_sim_digest(void);

#endif
