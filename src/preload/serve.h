/*
 * Allocations and frees of the program, served by the library where it can, else left to the driver.
 */
#ifndef XS_PRELOAD_SERVE_H
#define XS_PRELOAD_SERVE_H

#include "preload/here.h"

enum xs_served {
    XS_SERVED,
    XS_SERVED_NOT, /* the driver has to answer */
    XS_SERVED_FAIL /* out of memory, and the driver cannot do better */
};

/* The driver's word for an allocation that it does not have to answer. */
static inline xs_cu_result xs_served_code(enum xs_served served)
{
    return served == XS_SERVED ? XS_CUDA_SUCCESS : XS_CUDA_ERROR_OUT_OF_MEMORY;
}

/* Memory that all streams may use at once. `bytes` is not 0. */
enum xs_served xs_serve_alloc(const struct xs_here *here, xs_cu_ptr *va, size_t bytes);
/* Memory in the order of one stream of the context. */
enum xs_served xs_serve_alloc_on(const struct xs_here *here, xs_cu_ptr *va, size_t bytes,
                                 xs_cu_stream stream);

/* Frees in the order of the whole context, or of a stream. SERVED_NOT: not ours. Else *code is the answer. */
enum xs_served xs_serve_free(xs_cu_ptr va, xs_cu_result *code);
enum xs_served xs_serve_free_on(xs_cu_ptr va, xs_cu_stream stream, xs_cu_result *code);

/* Whether a live allocation of ours begins at the address. */
bool xs_serve_is_ours(xs_cu_ptr va);

/* Whether the request is one that a key leaves to the driver, or the context is not one that can be served. */
static inline bool xs_serve_may(const struct xs_here *here, size_t bytes)
{
    return here->dev && (bytes < here->native_from || bytes > here->native_to);
}

#endif
