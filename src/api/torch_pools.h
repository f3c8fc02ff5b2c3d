/*
 * PyTorch's private pools: which of ours stands for which of its ids, and which requests belong to a capture that is
 * under way. Has its own lock (rank TORCH), outermost; while no capture is open nobody takes it.
 */
#ifndef XS_API_TORCH_POOLS_H
#define XS_API_TORCH_POOLS_H

#include <stdatomic.h>
#include <stdbool.h>

#include "xseg/pools.h"
#include "xseg/torch.h"

/* Uses that have begun and not ended. */
extern _Atomic int xs_torch_pools_open;

static inline bool xs_torch_pools_in_use(void)
{
    return atomic_load_explicit(&xs_torch_pools_open, memory_order_relaxed) > 0;
}

/* The pool of the newest use that the stream belongs to; false: there is none. */
bool xs_torch_pools_find(int device, xseg_stream stream, xseg_pool *pool);

/* See xseg/torch.h. filter: a std::function<bool(cudaStream_t)>. */
enum xseg_result xs_torch_pools_create(int device, struct xseg_torch_pool id, unsigned flags,
                                       xseg_pool *out);
enum xseg_result xs_torch_pools_begin(int device, struct xseg_torch_pool id, const void *filter);
enum xseg_result xs_torch_pools_end(int device, struct xseg_torch_pool id);
enum xseg_result xs_torch_pools_release(int device, struct xseg_torch_pool id);
bool xs_torch_pools_abandon(void);
bool xs_torch_pools_id(xseg_pool pool, struct xseg_torch_pool *id);

#endif
