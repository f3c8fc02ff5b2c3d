#include "core/route.h"

#include "base/error.h"
#include "base/thread.h"

struct route {
    struct xs_list link; /* newest first */
    struct xs_pool *pool;
    struct xs_stream *stream; /* NULL: a thread's */
    uint64_t thread;          /* its id; 0: a stream's */
};

void xs_route_records_init(struct xs_slab *records)
{
    xs_slab_init(records, sizeof(struct route));
}

static struct route *route_of(struct xs_list *link)
{
    return XS_CONTAINER_OF(link, struct route, link);
}

static uint64_t own_id(void)
{
    const struct xs_thread *t = xs_thread_current;
    return t ? t->id : 0;
}

enum xseg_result xs_route_open(struct xs_device *dev, struct xs_pool *pool,
                               struct xs_stream *stream)
{
    xs_assert_held(&dev->lock);
    struct route *route = xs_slab_get(&dev->route_records);
    if (!route)
        return xs_fail(XSEG_ERROR_HOST_MEMORY, "no host memory for a route to a pool");
    route->pool = pool;
    route->stream = stream;
    route->thread = stream ? 0 : own_id();
    pool->users++;
    if (stream)
        stream->refs++; /* the record stays this stream's */
    xs_list_push_front(&dev->routes, &route->link);
    return XSEG_OK;
}

static void close_route(struct xs_device *dev, struct route *route)
{
    route->pool->users--;
    if (route->stream)
        route->stream->refs--;
    xs_list_remove(&route->link);
    xs_slab_put(&dev->route_records, route);
}

enum xseg_result xs_route_close(struct xs_device *dev, struct xs_pool *pool,
                                struct xs_stream *stream)
{
    xs_assert_held(&dev->lock);
    uint64_t thread = stream ? 0 : own_id();
    XS_LIST_FOR_EACH(link, &dev->routes) {
        struct route *route = route_of(link);
        if (route->pool != pool || route->stream != stream || route->thread != thread)
            continue;
        close_route(dev, route);
        return XSEG_OK;
    }
    return xs_fail(XSEG_ERROR_INVALID_VALUE, "pool %llu is not in use by this %s",
                   (unsigned long long)pool->id, stream ? "stream" : "thread");
}

void xs_routes_close_pool(struct xs_device *dev, const struct xs_pool *pool)
{
    xs_assert_held(&dev->lock);
    XS_LIST_FOR_EACH_SAFE(link, &dev->routes)
        if (route_of(link)->pool == pool)
            close_route(dev, route_of(link));
}

void xs_routes_close_thread(struct xs_device *dev, uint64_t thread)
{
    xs_lock_acquire(&dev->lock);
    XS_LIST_FOR_EACH_SAFE(link, &dev->routes)
        if (route_of(link)->thread == thread)
            close_route(dev, route_of(link));
    xs_lock_release(&dev->lock);
}

size_t xs_routes_of_stream(const struct xs_device *dev, const struct xs_stream *stream)
{
    size_t n = 0;
    XS_LIST_FOR_EACH(link, &dev->routes)
        n += route_of(link)->stream == stream;
    return n;
}

size_t xs_routes_of_pool(const struct xs_device *dev, const struct xs_pool *pool)
{
    size_t n = 0;
    XS_LIST_FOR_EACH(link, &dev->routes)
        n += route_of(link)->pool == pool;
    return n;
}

struct xs_pool *xs_route_look(struct xs_device *dev, const struct xs_stream *stream)
{
    xs_assert_held(&dev->lock);
    XS_LIST_FOR_EACH(link, &dev->routes) {
        const struct route *route = route_of(link);
        if (route->stream ? route->stream == stream : route->thread == own_id())
            return route->pool;
    }
    return &dev->main;
}
