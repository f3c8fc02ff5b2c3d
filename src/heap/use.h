/* That a block is used on a stream other than the one it was allocated for. */
#ifndef XS_HEAP_USE_H
#define XS_HEAP_USE_H

#include "vmm/stream.h"

struct xs_use {
    struct xs_use *next;
    struct xs_stream *stream;
    uint64_t stamp; /* once the block is freed: the epoch that has to pass on that stream */
};

#endif
