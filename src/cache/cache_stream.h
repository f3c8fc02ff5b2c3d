/* What a thread remembers of the streams it uses, so that a hit need not look them up. */
#ifndef XS_CACHE_CACHE_STREAM_H
#define XS_CACHE_CACHE_STREAM_H

#include "base/base.h"
#include "vmm/stream.h"

/* A stream that the thread has used: what its handle stands for. */
struct xs_cache_stream {
    xs_cu_stream handle; /* XS_CACHE_NO_STREAM: an unused entry */
    struct xs_stream *stream;
    uint64_t
        id; /* XS_CACHE_TRUSTED: the handle cannot come to mean another stream behind our back */
    uint64_t lane; /* of the stream, in the pool that the thread's requests on it go to */
};

#define XS_CACHE_TRUSTED                                                                           \
    (UINT64_MAX - 1) /* neither an id of the driver's nor XS_DRIVER_CAPTURING */

#define XS_CACHE_NO_STREAM ((xs_cu_stream)UINTPTR_MAX)

#endif
