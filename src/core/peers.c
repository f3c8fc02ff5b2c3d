#include "core/peers.h"

#include "base/error.h"
#include "driver/driver.h"

/* Under GROWTH, which alone changes what is mapped where. */
static enum xseg_result set_segment(const struct xs_segment *segment, int peer, int flags)
{
    struct xs_cu_access_desc access = {{XS_CU_LOCATION_DEVICE, peer}, flags};
    xs_cu_ptr end = segment->base + segment->bytes;
    for (xs_cu_ptr va = segment->base; va < end;) {
        const struct xs_extent *e = xs_segment_extent_at(segment, va);
        if (e) {
            xs_cu_result code = xs_cu_mem_set_access(e->va, e->bytes, &access, 1);
            if (code)
                return xs_driver_result(code);
        }
        va += e ? e->bytes : segment->granule;
    }
    return XSEG_OK;
}

static enum xseg_result set_heap(const struct xs_heap *heap, int peer, int flags)
{
    enum xseg_result e = XSEG_OK;
    XS_LIST_FOR_EACH(link, &heap->segments) {
        if (!e)
            e = set_segment(XS_CONTAINER_OF(link, struct xs_segment, link), peer, flags);
    }
    return e;
}

static bool is_any(const struct xs_pool *pool)
{
    (void)pool;
    return true;
}

static enum xseg_result set_all(struct xs_device *dev, int peer, int flags)
{
    for (struct xs_pool *pool = NULL; (pool = xs_pool_next(dev, pool, is_any));) {
        enum xseg_result e = set_heap(&pool->expandable, peer, flags);
        if (!e)
            continue;
        xs_pool_let_go(dev, pool);
        return e;
    }
    return XSEG_OK;
}

static enum xseg_result set_in_context(struct xs_device *dev, int peer, bool may_access)
{
    enum xseg_result e =
        set_all(dev, peer, may_access ? XS_CU_ACCESS_READWRITE : XS_CU_ACCESS_NONE);
    if (e) {
        set_all(dev, peer, may_access ? XS_CU_ACCESS_NONE : XS_CU_ACCESS_READWRITE);
        return e;
    }
    uint64_t bit = (uint64_t)1 << peer;
    dev->caps.peers = may_access ? dev->caps.peers | bit : dev->caps.peers & ~bit;
    return XSEG_OK;
}

/* Before anything is mapped nothing else would tell. */
static enum xseg_result check_pair(const struct xs_device *dev, int peer)
{
    int can = 1;
    xs_cu_result code = xs_driver_has(XS_CALL_can_access_peer)
                            ? xs_cu_can_access_peer(&can, peer, dev->caps.device)
                            : XS_CUDA_SUCCESS;
    if (code)
        return xs_driver_result(code);
    return can ? XSEG_OK
               : xs_fail(XSEG_ERROR_NOT_SUPPORTED,
                         "device %d has no way to the memory of device %d (cuDeviceCanAccessPeer)",
                         peer, dev->caps.ordinal);
}

enum xseg_result xs_peers_set(struct xs_device *dev, int peer, bool may_access)
{
    if (peer < 0 || peer >= XS_PEER_LIMIT)
        return xs_fail(XSEG_ERROR_INVALID_VALUE, "peer device %d: not between 0 and %d", peer,
                       XS_PEER_LIMIT - 1);
    enum xseg_result refused = may_access ? check_pair(dev, peer) : XSEG_OK;
    if (refused)
        return refused;
    struct xs_context_scope scope;
    xs_lock_acquire(&dev->growth);
    enum xseg_result e = xs_context_enter(&dev->context, &scope);
    if (!e) {
        e = set_in_context(dev, peer, may_access);
        xs_context_leave(&scope);
    }
    xs_lock_release(&dev->growth);
    return e;
}
