#include "api/torch_pools.h"

#include "api/torch_filter.h"
#include "base/error.h"
#include "base/list.h"
#include "base/lock.h"
#include "base/meta.h"
#include "base/thread.h"

/* One of PyTorch's pools on one device. */
struct graph_pool {
    struct xs_list link;
    struct xseg_torch_pool id;
    int device;
    unsigned wants; /* begins less releases */
    xseg_pool pool;
};

/* From a begin to its end. */
struct use {
    struct xs_list link; /* newest first */
    struct graph_pool *pool;
    struct xs_torch_filter filter;
    uint64_t thread; /* that began it */
};

_Atomic int xs_torch_pools_open;

static struct {
    struct xs_lock lock; /* rank TORCH */
    /* Guarded by lock. */
    bool ready;
    struct xs_list pools;
    struct xs_list uses;
    struct xs_slab pool_records;
    struct xs_slab use_records;
} graphs = {.lock = XS_LOCK_INITIALIZER(XS_RANK_TORCH)};

static struct graph_pool *pool_of(struct xs_list *link)
{
    return XS_CONTAINER_OF(link, struct graph_pool, link);
}

static struct use *use_of(struct xs_list *link)
{
    return XS_CONTAINER_OF(link, struct use, link);
}

static void lock(void)
{
    xs_lock_acquire(&graphs.lock);
    if (graphs.ready)
        return;
    xs_list_init(&graphs.pools);
    xs_list_init(&graphs.uses);
    xs_slab_init(&graphs.pool_records, sizeof(struct graph_pool));
    xs_slab_init(&graphs.use_records, sizeof(struct use));
    graphs.ready = true;
}

static void unlock(void)
{
    xs_lock_release(&graphs.lock);
}

static uint64_t own_id(void)
{
    const struct xs_thread *t = xs_thread_self();
    return t ? t->id : 0;
}

/* ---- pools ---------------------------------------------------------------------------------- */

static struct graph_pool *find_pool(int device, struct xseg_torch_pool id)
{
    XS_LIST_FOR_EACH(link, &graphs.pools) {
        struct graph_pool *pool = pool_of(link);
        if (pool->device == device && pool->id.first == id.first && pool->id.second == id.second)
            return pool;
    }
    return NULL;
}

static enum xseg_result make_pool(int device, struct xseg_torch_pool id, unsigned flags,
                                  struct graph_pool **out)
{
    struct graph_pool *pool = xs_slab_get(&graphs.pool_records);
    if (!pool)
        return xs_fail(XSEG_ERROR_HOST_MEMORY, "no host memory for a graph's pool");
    enum xseg_result e = xseg_pool_create(device, flags, &pool->pool);
    if (e) {
        xs_slab_put(&graphs.pool_records, pool);
        return e;
    }
    pool->device = device;
    pool->id = id;
    xs_list_push_back(&graphs.pools, &pool->link);
    *out = pool;
    return XSEG_OK;
}

/* ---- uses ----------------------------------------------------------------------------------- */

static void end_use(struct use *use)
{
    int device = use->pool->device;
    xs_torch_filter_destroy(&use->filter);
    xs_list_remove(&use->link);
    xs_slab_put(&graphs.use_records, use);
    atomic_fetch_sub(&xs_torch_pools_open, 1);
    xseg_capture(device, false);
}

static void let_go(struct graph_pool *pool)
{
    if (--pool->wants)
        return;
    XS_LIST_FOR_EACH_SAFE(link, &graphs.uses)
        if (use_of(link)->pool == pool)
            end_use(use_of(link));
    xseg_pool_destroy(pool->pool);
    xs_list_remove(&pool->link);
    xs_slab_put(&graphs.pool_records, pool);
}

static enum xseg_result begin_use(struct graph_pool *pool, const void *filter)
{
    struct use *use = xs_slab_get(&graphs.use_records);
    if (!use)
        return xs_fail(XSEG_ERROR_HOST_MEMORY, "no host memory for the use of a graph's pool");
    enum xseg_result e = xseg_capture(pool->device, true);
    if (e) {
        xs_slab_put(&graphs.use_records, use);
        return e;
    }
    use->pool = pool;
    use->thread = own_id();
    xs_torch_filter_copy(&use->filter, filter);
    xs_list_push_front(&graphs.uses, &use->link);
    atomic_fetch_add(&xs_torch_pools_open, 1);
    return XSEG_OK;
}

/* The pool of that id, wanted once more. */
static enum xseg_result want_pool(int device, struct xseg_torch_pool id, unsigned flags,
                                  struct graph_pool **pool)
{
    enum xseg_result e = XSEG_OK;
    *pool = find_pool(device, id);
    if (!*pool)
        e = make_pool(device, id, flags, pool);
    if (!e)
        (*pool)->wants++;
    return e;
}

enum xseg_result xs_torch_pools_create(int device, struct xseg_torch_pool id, unsigned flags,
                                       xseg_pool *out)
{
    struct graph_pool *pool;
    lock();
    enum xseg_result e = want_pool(device, id, flags, &pool);
    if (!e)
        *out = pool->pool;
    unlock();
    return e;
}

enum xseg_result xs_torch_pools_begin(int device, struct xseg_torch_pool id, const void *filter)
{
    struct graph_pool *pool;
    lock();
    enum xseg_result e = want_pool(device, id, 0, &pool);
    if (!e) {
        e = begin_use(pool, filter);
        if (e)
            let_go(pool);
    }
    unlock();
    return e;
}

enum xseg_result xs_torch_pools_end(int device, struct xseg_torch_pool id)
{
    lock();
    const struct graph_pool *pool = find_pool(device, id);
    struct use *found = NULL;
    XS_LIST_FOR_EACH(link, &graphs.uses)
        if (!found && use_of(link)->pool == pool)
            found = use_of(link);
    if (found)
        end_use(found);
    unlock();
    if (found)
        return XSEG_OK;
    return xs_fail(XSEG_ERROR_INVALID_VALUE, "pool (%llu, %llu) has not begun",
                   (unsigned long long)id.first, (unsigned long long)id.second);
}

enum xseg_result xs_torch_pools_release(int device, struct xseg_torch_pool id)
{
    lock();
    struct graph_pool *pool = find_pool(device, id);
    if (pool)
        let_go(pool);
    unlock();
    return XSEG_OK; /* of one that is gone: a capture that failed was released before */
}

bool xs_torch_pools_abandon(void)
{
    bool found = false;
    lock();
    XS_LIST_FOR_EACH(link, &graphs.uses) {
        struct use *use = use_of(link);
        if (use->thread != own_id())
            continue;
        struct graph_pool *pool = use->pool;
        end_use(use);
        let_go(pool);
        found = true;
        break;
    }
    unlock();
    return found;
}

bool xs_torch_pools_find(int device, xseg_stream stream, xseg_pool *pool)
{
    bool found = false;
    lock();
    XS_LIST_FOR_EACH(link, &graphs.uses) {
        const struct use *use = use_of(link);
        if (use->pool->device != device || !xs_torch_filter_names(&use->filter, stream))
            continue;
        *pool = use->pool->pool;
        found = true;
        break;
    }
    unlock();
    return found;
}

bool xs_torch_pools_id(xseg_pool pool, struct xseg_torch_pool *id)
{
    bool found = false;
    lock();
    XS_LIST_FOR_EACH(link, &graphs.pools) {
        if (pool_of(link)->pool != pool)
            continue;
        *id = pool_of(link)->id;
        found = true;
    }
    unlock();
    return found;
}
