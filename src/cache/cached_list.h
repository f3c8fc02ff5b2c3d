/* Blocks on their way between a thread's cache, the depot and the heap. */
#ifndef XS_CACHE_CACHED_LIST_H
#define XS_CACHE_CACHED_LIST_H

#include "heap/block.h"

/* A list of CACHED blocks through next_cached. */
struct xs_cached_list {
    struct xs_block *head;
    size_t count;
};

#endif
