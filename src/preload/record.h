/*
 * Keeps a record of what the program allocates and frees, in the format that `xseg replay` reads: a line an
 * event. XSEG_RECORD names the file; the events go to a file beside it, and once the program exits, when their
 * number is known, header and events become the file. A program that is killed leaves no record.
 *
 * Thread-safe. Off, it costs one look at a flag.
 */
#ifndef XS_PRELOAD_RECORD_H
#define XS_PRELOAD_RECORD_H

#include <stdatomic.h>

#include "base/base.h"
#include "driver/cuda_abi.h"

extern _Atomic bool xs_record_on;

static inline bool xs_record_is_on(void)
{
    return xs_unlikely(atomic_load_explicit(&xs_record_on, memory_order_relaxed));
}

/* Opens the file; once. A file that cannot be written is one line in the log. */
void xs_record_begin(const char *path);
/* Makes the file whole. */
void xs_record_end(void);

void xs_record_write_alloc(xs_cu_ptr va, size_t bytes, xs_cu_stream stream);
void xs_record_write_free(xs_cu_ptr va);

/* Memory was handed out; memory is about to be freed. */
static inline void xs_record_alloc(xs_cu_ptr va, size_t bytes, xs_cu_stream stream)
{
    if (xs_record_is_on())
        xs_record_write_alloc(va, bytes, stream);
}

static inline void xs_record_free(xs_cu_ptr va)
{
    if (xs_record_is_on())
        xs_record_write_free(va);
}

#endif
