/*
 * The only door to libcuda: one table of entries, filled by dlopen at first use from driver_list.h.
 *
 * Every call goes through a wrapper xs_cu_<name>() that counts it, times it, lets a test fail or
 * delay it, and on failure records call, arguments and native code for xs_driver_last_error().
 * Thread-safe after xs_driver_load() has returned. No wrapper takes a lock, so a caller may hold
 * any; see base/lock_list.h for the locks that must not be held across a driver call.
 */
#ifndef XS_DRIVER_DRIVER_H
#define XS_DRIVER_DRIVER_H

#include "base/base.h"
#include "driver/cuda_abi.h"
#include "driver/driver_list.h"

enum xs_call {
#define X(need, name, ...) XS_CALL_##name,
    XS_DRIVER_LIST(X)
#undef X
        XS_CALL_COUNT
};

#define XS_DRIVER_DEFAULT_LIBRARY "libcuda.so.1"

/* Loads `path` (NULL: libcuda.so.1), fills the table and calls cuInit. The first success wins; a later
 * call with the same path succeeds, with another path is refused. A failed load leaves nothing. */
enum xseg_result xs_driver_load(const char *path);
bool xs_driver_is_loaded(void);
/* Whether all entries marked VMM were found. */
bool xs_driver_has_vmm(void);
bool xs_driver_has(enum xs_call call);
/* The library's file as the loader was given it; "" before a load. */
const char *xs_driver_library(void);
/* Whether the loaded library is xseg's simulator: it exports xs_sim_cost_ns. */
bool xs_driver_is_simulator(void);

#define X(need, name, symbol, params, ...) xs_cu_result xs_cu_##name params;
XS_DRIVER_LIST(X)
#undef X

/* Names: the symbol ("cuMemMap") and, asked of the driver, the code ("CUDA_ERROR_..."). Never NULL. */
const char *xs_driver_call_name(enum xs_call call);
const char *xs_driver_code_name(xs_cu_result code);

/* Translates a native code; the only place where that is done. */
enum xseg_result xs_driver_result(xs_cu_result code);

#define XS_ARGUMENTS_BYTES 128

/* What this thread's last failed call was. code 0: none since xs_driver_clear_error(). */
struct xs_driver_error {
    xs_cu_result code;
    enum xs_call call;
    char arguments[XS_ARGUMENTS_BYTES];
};
const struct xs_driver_error *xs_driver_last_error(void);
void xs_driver_clear_error(void);

/* Stands for the id of a stream that captures: to ask such a stream for its id invalidates the capture. */
#define XS_DRIVER_CAPTURING UINT64_MAX

/* Whether the stream still has this id: the handle may have come to name another stream. For the path
 * of a cached allocation, so it is neither counted nor timed; true where the driver knows no ids. */
bool xs_driver_stream_has_id(xs_cu_stream stream, uint64_t id);

/* Process-wide counters, relaxed atomics. Failed calls are counted too. */
uint64_t xs_driver_calls(enum xs_call call);
uint64_t xs_driver_wall_ns(void); /* host time spent inside libcuda */
uint64_t xs_driver_cost_ns(void); /* the same; on the simulator its cost table's time */

#endif
