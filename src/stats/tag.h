/*
 * Tags: what a thread is doing, as the program says it. A tag is a node of one tree for the process, and its
 * number stands for the path to it: push("layer3"), push("attention") gives "layer3.attention". Numbers stay
 * valid for ever; 0 is no tag.
 *
 * Thread-safe. Pushing takes a lock of its own; the current tag is the thread's alone.
 */
#ifndef XS_STATS_TAG_H
#define XS_STATS_TAG_H

#include "base/thread.h"

#define XS_TAG_LIMIT      65536
#define XS_TAG_NAME_BYTES 52
#define XS_TAG_DEPTH      64
#define XS_TAG_PATH_BYTES 256

/* The thread's tag becomes a child of what it was; a longer name is cut, and what is pushed beyond XS_TAG_DEPTH
 * or XS_TAG_LIMIT counts as its parent. Errors: HOST_MEMORY. */
enum xseg_result xs_tag_push(const char *name);
/* Errors: INVALID_VALUE (nothing was pushed). */
enum xseg_result xs_tag_pop(void);

/* The calling thread's. */
static inline uint32_t xs_tag_current(void)
{
    return xs_thread_current ? xs_thread_current->tag : 0;
}

/* "layer3.attention", cut at the front if it is longer; "" for 0. Returns `out`. */
const char *xs_tag_path(uint32_t tag, char out[XS_TAG_PATH_BYTES]);
/* Numbers are below this. */
uint32_t xs_tag_count(void);

#endif
