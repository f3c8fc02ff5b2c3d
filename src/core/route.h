/*
 * Routes: which pool serves a request that names none. A thread's requests, or those on a stream, go to a
 * pool for as long as a route is open; the newest that fits counts. Other threads and streams never notice.
 *
 * Under HEAP. A thread's cache keeps what its streams are routed to (cache/cache_stream.h), so a hit does not
 * look here.
 */
#ifndef XS_CORE_ROUTE_H
#define XS_CORE_ROUTE_H

#include "core/device.h"
#include "core/pool.h"

void xs_route_records_init(struct xs_slab *records);

/* Opens a route: of the calling thread, or, with a stream, of that. Errors: HOST_MEMORY. */
enum xseg_result xs_route_open(struct xs_device *dev, struct xs_pool *pool,
                               struct xs_stream *stream);
/* Closes the newest such route. Errors: INVALID_VALUE (there is none). */
enum xseg_result xs_route_close(struct xs_device *dev, struct xs_pool *pool,
                                struct xs_stream *stream);
/* Closes all routes to a pool. */
void xs_routes_close_pool(struct xs_device *dev, const struct xs_pool *pool);
/* Closes all routes of a thread that ends. Takes HEAP. */
void xs_routes_close_thread(struct xs_device *dev, uint64_t thread);

/* How many routes name a stream, or a pool; for the checker. */
size_t xs_routes_of_stream(const struct xs_device *dev, const struct xs_stream *stream);
size_t xs_routes_of_pool(const struct xs_device *dev, const struct xs_pool *pool);

/* Where a request of the calling thread on the stream goes. */
struct xs_pool *xs_route_look(struct xs_device *dev, const struct xs_stream *stream);

static inline struct xs_pool *xs_route_find(struct xs_device *dev, const struct xs_stream *stream)
{
    return xs_likely(xs_list_is_empty(&dev->routes)) ? &dev->main : xs_route_look(dev, stream);
}

#endif
