/*
 * Whether the order of the legacy stream is all the order there is. As long as the program has given work to no
 * other stream, of no other device, memory that is freed can be handed out again at once: whatever uses it next
 * comes later in that stream. From the first other work on, for ever, freed memory has to wait until the GPU
 * has passed the free on all streams.
 *
 * The first other work finds memory that was handed out before under the simpler rule, so the legacy stream is
 * waited for then, once; the cudaFree calls until then have not waited for it, as the driver's would have.
 */
#ifndef XS_PRELOAD_ORDER_H
#define XS_PRELOAD_ORDER_H

#include <stdatomic.h>

#include "base/base.h"
#include "driver/cuda_abi.h"

extern _Atomic bool xs_order_several;

static inline bool xs_order_is_several(void)
{
    return atomic_load_explicit(&xs_order_several, memory_order_acquire);
}

/* The first work on another stream is about to be queued, by a call of this name. */
void xs_order_begin_several(const char *cause);
/* The same where nothing was handed out yet. */
void xs_order_set_several(const char *cause);
/* That name; NULL: there is only the legacy stream's order so far. */
const char *xs_order_cause(void);
/* A device is in use; the second one is another stream. */
void xs_order_note_device(int ordinal);

/* The stream is about to be given work by a call of this name. */
static inline void xs_order_note_work(xs_cu_stream stream, const char *cause)
{
    if (xs_unlikely(stream != NULL && stream != XS_CU_STREAM_LEGACY && !xs_order_is_several()))
        xs_order_begin_several(cause);
}

#endif
