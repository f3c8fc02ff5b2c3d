/*
 * Allocating and freeing on one device: the thread's block cache first, then the depot, the heap, and the
 * ladder (core/ladder.h).
 */
#ifndef XS_CORE_ALLOC_H
#define XS_CORE_ALLOC_H

#include "cache/cache_hit.h"
#include "core/caches.h"
#include "core/device.h"
#include "driver/driver.h"

/* One request on its way down the ladder. */
struct xs_request {
    struct xs_device *dev;
    size_t requested;
    size_t bytes; /* rounded */
    struct xs_stream *stream;
    struct xs_pool *pool;
    uint64_t lane;        /* of pool and stream: with the size, the key of cached blocks */
    xs_cu_stream handle;  /* alive while the call lasts */
    struct xs_cache *own; /* the calling thread's cache, or NULL */
    bool again;           /* its heap has been searched for it before */
};

/* The stream is known. */
static inline void xs_request_choose(struct xs_request *request, struct xs_pool *pool)
{
    request->pool = pool;
    request->lane = xs_cache_lane(pool->index, request->stream->index);
}

/* Whether the calling thread's cache can be used, and knows the stream: the latter without asking the driver
 * for the default streams and those that the caller vouches for. */
static inline const struct xs_cache_stream *xs_alloc_known_stream(struct xs_cache *c,
                                                                  xs_cu_stream handle)
{
    if (xs_unlikely(!c || !xs_cache_is_ready(c)))
        return NULL;
    const struct xs_cache_stream *known = xs_cache_stream_slot(c, handle);
    if (xs_unlikely(known->handle != handle))
        return NULL;
    return known->id == XS_CACHE_TRUSTED || xs_driver_stream_has_id(handle, known->id) ? known
                                                                                       : NULL;
}

/* The hit: a block of the calling thread's cache, or NULL. */
static inline struct xs_block *xs_alloc_hit(struct xs_cache *c, size_t bytes,
                                            const struct xs_cache_stream *known)
{
    if (xs_unlikely(!known || bytes - 1 >= XS_CACHE_LARGEST - 1))
        return NULL;
    size_t rounded = (bytes + kMinBlock - 1) & ~(kMinBlock - 1);
    return xs_cache_pop(c, xs_cache_key(rounded, known->lane), bytes, false);
}

/* The same for a free: whether the thread's cache has taken the block. */
static inline bool xs_free_hit(struct xs_cache *c, struct xs_block *block)
{
    return xs_likely(c && block->cacheable && xs_cache_is_current(c)) && xs_cache_push(c, block);
}

/* 0 < bytes; a hit has been tried, and `known`: the stream was. Errors as xseg_malloc(). */
enum xseg_result xs_alloc(struct xs_device *dev, size_t bytes, xs_cu_stream handle, bool known,
                          void **ptr);

/* The same from a pool. Errors too: INVALID_VALUE (there is none of that name). */
enum xseg_result xs_alloc_from_pool(struct xs_device *dev, uint64_t pool, size_t bytes,
                                    xs_cu_stream handle, void **ptr);

/* The block is the device's and was found in the address map. Errors: UNKNOWN_POINTER (freed meanwhile). */
enum xseg_result xs_free(struct xs_device *dev, struct xs_block *block);
/* Freed in the order of the stream that `handle` is. */
enum xseg_result xs_free_on(struct xs_device *dev, struct xs_block *block, xs_cu_stream handle);
/* Used on that stream too. */
enum xseg_result xs_alloc_record_stream(struct xs_device *dev, struct xs_block *block,
                                        xs_cu_stream handle);

/* A block that a rung has made LIVE is handed out: counted, and found by its address. Under HEAP. */
void xs_alloc_hand_out(const struct xs_request *request, struct xs_block *block);

/* Best fit for the request, made LIVE, handed out and counted; NULL: none. Takes HEAP. */
struct xs_block *xs_alloc_best_fit(const struct xs_request *request, uint64_t *counter);

/* Whether new requests are served by the expandable heap. Under HEAP. */
bool xs_alloc_is_expandable(const struct xs_device *dev);

#endif
