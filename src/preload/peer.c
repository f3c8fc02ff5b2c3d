#include "preload/peer.h"

#include <pthread.h>
#include <string.h>

#include "core/peers.h"
#include "core/runtime.h"
#include "driver/driver.h"
#include "preload/door.h"
#include "preload/here.h"
#include "preload/order.h"

/* user[owner][device]: the context of `device` that may use the memory of `owner`. */
static struct {
    pthread_mutex_t lock;
    xs_cu_context user[XS_PEER_LIMIT][XS_PEER_LIMIT];
    bool any;
} peers = {.lock = PTHREAD_MUTEX_INITIALIZER};

static uint64_t users_of(int owner)
{
    uint64_t set = 0;
    for (int i = 0; i < XS_PEER_LIMIT; i++)
        if (peers.user[owner][i])
            set |= (uint64_t)1 << i;
    return set;
}

/* Errors are the driver's, and in the library's last error; the program would find out when it uses the memory,
 * as it does when an enabled link is lost. */
static enum xseg_result apply(struct xs_device *dev)
{
    enum xseg_result e = XSEG_OK;
    uint64_t want = users_of(dev->caps.ordinal);
    for (int i = 0; i < XS_PEER_LIMIT && !e; i++) {
        uint64_t bit = (uint64_t)1 << i;
        if ((want ^ dev->caps.peers) & bit)
            e = xs_peers_set(dev, i, want & bit);
    }
    return e;
}

void xs_peer_apply(struct xs_device *dev)
{
    pthread_mutex_lock(&peers.lock);
    if (peers.any)
        apply(dev);
    pthread_mutex_unlock(&peers.lock);
}

static void wait_for(xs_cu_context context)
{
    xs_cu_context popped;
    if (xs_cu_ctx_push(context))
        return;
    xs_cu_ctx_synchronize();
    xs_cu_ctx_pop(&popped);
}

void xs_peer_wait_for_users(const struct xs_device *dev)
{
    xs_cu_context users[XS_PEER_LIMIT];
    pthread_mutex_lock(&peers.lock);
    memcpy(users, peers.user[dev->caps.ordinal], sizeof(users));
    pthread_mutex_unlock(&peers.lock);
    for (int i = 0; i < XS_PEER_LIMIT; i++)
        if (users[i])
            wait_for(users[i]);
}

void xs_peer_forget(xs_cu_context context)
{
    pthread_mutex_lock(&peers.lock);
    for (int owner = 0; owner < XS_PEER_LIMIT; owner++)
        for (int i = 0; i < XS_PEER_LIMIT; i++)
            if (peers.user[owner][i] == context)
                peers.user[owner][i] = NULL;
    pthread_mutex_unlock(&peers.lock);
}

/* ---- the entries ---------------------------------------------------------------------------- */

static bool device_of(xs_cu_context context, int *ordinal)
{
    xs_cu_context popped;
    if (xs_cu_ctx_push(context))
        return false;
    bool found = xs_context_current_device(ordinal) == XSEG_OK;
    xs_cu_ctx_pop(&popped);
    return found && *ordinal >= 0 && *ordinal < XS_PEER_LIMIT;
}

/* The calling thread's context may use the memory of the peer's device, or no longer. */
static enum xseg_result note(xs_cu_context peer, bool may_access)
{
    xs_cu_context user;
    int owner, device;
    if (xs_door_use_driver() || xs_cu_ctx_get_current(&user) ||
        xs_context_current_device(&device) || !device_of(peer, &owner) || device < 0 ||
        device >= XS_PEER_LIMIT)
        return XSEG_OK;
    if (may_access && !xs_order_is_several())
        xs_order_begin_several(
            "cuCtxEnablePeerAccess"); /* a stream of another device is another stream */
    pthread_mutex_lock(&peers.lock);
    peers.any = true;
    peers.user[owner][device] = may_access ? user : NULL;
    struct xs_device *dev = xs_runtime_open_device(owner);
    enum xseg_result e = dev ? apply(dev) : XSEG_OK;
    if (e && may_access)
        peers.user[owner][device] = NULL;
    pthread_mutex_unlock(&peers.lock);
    return e;
}

xs_cu_result cuCtxEnablePeerAccess(xs_cu_context peer, unsigned flags)
{
    xs_cu_result code = xs_native_cuCtxEnablePeerAccess(peer, flags);
    if (code || !xs_door_is_open() || !note(peer, true))
        return code;
    xs_native_cuCtxDisablePeerAccess(peer); /* half of the memory would be worse than none */
    return XS_CUDA_ERROR_NOT_SUPPORTED;
}

xs_cu_result cuCtxDisablePeerAccess(xs_cu_context peer)
{
    xs_cu_result code = xs_native_cuCtxDisablePeerAccess(peer);
    if (!code && xs_door_is_open())
        note(peer, false);
    return code;
}
