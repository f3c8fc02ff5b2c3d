/*
 * An allocator as the workloads see it. Each is one static table; an outside program supplies its own
 * (bench/peer). alloc and free are called on the hot path by any number of threads; the rest only
 * while no other call runs.
 */
#ifndef XS_BENCH_CONTESTANT_H
#define XS_BENCH_CONTESTANT_H

#include "bench/gpu.h"

struct xs_contestant {
    const char *name;
    size_t only_bytes; /* it has host memory, and of this size alone; 0: what is asked for */
    /* Fresh, with the policy string that it may know; NULL: none. False: see failure.h. */
    bool (*open)(const struct xs_gpu *gpu, const char *conf);
    void (*close)(void);
    /* 0, or an error code. */
    int (*alloc)(void **ptr, size_t bytes, xseg_stream stream);
    int (*free)(void *ptr, size_t bytes, xseg_stream stream);

    /* What follows may be NULL. */
    const char *(*explain)(int code);               /* on the thread that got the code */
    void (*trim)(void);                             /* gives back what nothing uses */
    bool (*limit)(size_t bytes);                    /* never to hold more */
    bool (*used_on)(void *ptr, xseg_stream stream); /* declares a use on a stream not its own */
    bool (*vouch)(xseg_stream stream, bool begins); /* a stream was made, or will be destroyed */
};

extern const struct xs_contestant xs_contestant_xseg;
extern const struct xs_contestant xs_contestant_xseg_by_id; /* the same, streams not vouched for */
extern const struct xs_contestant xs_contestant_mem_alloc;
extern const struct xs_contestant xs_contestant_async;
extern const struct xs_contestant xs_contestant_glibc; /* the control */

/* Notes the failure; returns false. `what` is "alloc" or "free". */
bool xs_contestant_failed(const struct xs_contestant *who, const char *what, size_t bytes,
                          int code);

#endif
