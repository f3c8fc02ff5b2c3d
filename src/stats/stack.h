/*
 * Call stacks of native code, each kept once: a number stands for it for ever. Taken as return addresses, which
 * costs a microsecond or so; names are looked up only when somebody wants to read them.
 *
 * Thread-safe. Never call with a lock held: unwinding may take the loader's.
 */
#ifndef XS_STATS_STACK_H
#define XS_STATS_STACK_H

#include "base/base.h"

#define XS_STACK_FRAMES 24
#define XS_STACK_LIMIT  65536

/* The calling thread's stack from the caller's caller on; 0: none could be taken, or there are too many different ones. */
uint32_t xs_stack_take(void);

/* The return addresses of a stack, innermost first; returns how many. */
size_t xs_stack_frames(uint32_t stack, const void *frames[XS_STACK_FRAMES]);

struct xs_frame_name {
    const char *function; /* "??" where it is not known */
    const char *file;     /* of the program or library */
    size_t offset;        /* in that file */
};
/* Valid as long as the library is loaded that the address is in. */
struct xs_frame_name xs_stack_name(const void *address);

#endif
