#include "ipc/ipc_export.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/error.h"
#include "base/list.h"
#include "base/meta.h"
#include "core/inside.h"
#include "core/runtime.h"
#include "driver/driver.h"

#define PIECES_MAX 4096

struct export
{
    struct xs_list link;
    int device;
    xs_cu_ptr va;
    uint64_t token;
};

_Atomic bool xs_ipc_has_exports;

/* Guarded by lock. */
static struct {
    pthread_mutex_t lock;
    pid_t owner; /* a forked child has the table too, but neither the thread nor the memory */
    uint64_t nonce;
    int socket;
    bool ready;
    struct xs_list exports;
    struct xs_slab slab;
} sharing = {.lock = PTHREAD_MUTEX_INITIALIZER, .socket = -1};

/* ---- the table ------------------------------------------------------------------------------ */

static struct export *find_by_va(xs_cu_ptr va)
{
    XS_LIST_FOR_EACH(link, &sharing.exports) {
        struct export *x = XS_CONTAINER_OF(link, struct export, link);
        if (x->va == va)
            return x;
    }
    return NULL;
}

static struct export *find_by_token(uint64_t token)
{
    XS_LIST_FOR_EACH(link, &sharing.exports) {
        struct export *x = XS_CONTAINER_OF(link, struct export, link);
        if (x->token == token)
            return x;
    }
    return NULL;
}

void xs_ipc_forget_block(xs_cu_ptr va)
{
    pthread_mutex_lock(&sharing.lock);
    struct export *x = sharing.ready ? find_by_va(va) : NULL;
    if (x) {
        xs_list_remove(&x->link);
        xs_slab_put(&sharing.slab, x);
    }
    pthread_mutex_unlock(&sharing.lock);
}

void xs_ipc_forget_device(int device)
{
    pthread_mutex_lock(&sharing.lock);
    for (struct xs_list *link = sharing.exports.next, *next;
         sharing.ready && link != &sharing.exports; link = next) {
        struct export *x = XS_CONTAINER_OF(link, struct export, link);
        next = link->next;
        if (x->device != device)
            continue;
        xs_list_remove(&x->link);
        xs_slab_put(&sharing.slab, x);
    }
    pthread_mutex_unlock(&sharing.lock);
}

bool xs_ipc_is_own(const struct xs_ipc_blob *blob)
{
    pthread_mutex_lock(&sharing.lock);
    bool own = sharing.ready && blob->nonce == sharing.nonce && blob->pid == (int32_t)getpid();
    pthread_mutex_unlock(&sharing.lock);
    return own;
}

/* ---- the thread ----------------------------------------------------------------------------- */

static bool send_batch(int socket, struct xs_ipc_pieces *pieces, const struct xs_backing *backing)
{
    int files[XS_IPC_BATCH];
    uint32_t n = 0;
    while (n < pieces->count &&
           !xs_cu_mem_export(&files[n], backing[n].mem, XS_CU_HANDLE_POSIX_FD, 0)) {
        pieces->bytes[n] = backing[n].bytes;
        n++;
    }
    bool all = n == pieces->count;
    if (!all)
        pieces->count = 0;
    bool sent = xs_ipc_send_pieces(socket, pieces, files);
    while (n)
        close(files[--n]);
    return all && sent;
}

/* The table stays locked, so that the block cannot be freed meanwhile. */
static void answer(int socket, uint64_t token)
{
    static struct xs_backing backing[PIECES_MAX]; /* the one thread's */
    struct xs_ipc_pieces pieces = {0};
    const struct export *x = find_by_token(token);
    struct xs_device *dev = x ? xs_runtime_open_device(x->device) : NULL;
    size_t total = dev ? xs_inside_backing(dev, x->va, backing, PIECES_MAX) : 0;
    if (!total || total > PIECES_MAX) {
        xs_ipc_send_pieces(socket, &pieces, NULL);
        return;
    }
    for (size_t at = 0; at < total; at += pieces.count) {
        memset(&pieces, 0, sizeof(pieces));
        pieces.total = (uint32_t)total;
        pieces.count = (uint32_t)xs_min(total - at, XS_IPC_BATCH);
        if (!send_batch(socket, &pieces, backing + at))
            return;
    }
}

static void serve(int socket)
{
    uint64_t token;
    if (!xs_ipc_is_same_user(socket) || !xs_ipc_receive_token(socket, &token))
        return;
    pthread_mutex_lock(&sharing.lock);
    answer(socket, token);
    pthread_mutex_unlock(&sharing.lock);
}

static void *listen_for_ever(void *unused)
{
    (void)unused;
    for (;;) {
        int socket = accept4(sharing.socket, NULL, NULL, SOCK_CLOEXEC);
        if (socket < 0 && errno != EINTR && errno != ECONNABORTED && errno != EMFILE)
            return NULL;
        if (socket < 0)
            continue;
        serve(socket);
        close(socket);
    }
}

/* Signals are for the program's own threads. */
static bool start_thread(void)
{
    pthread_t thread;
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(&thread, NULL, listen_for_ever, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!error)
        pthread_detach(thread);
    errno = error;
    return !error;
}

static bool start(void)
{
    if (sharing.ready && sharing.owner == getpid())
        return true;
    if (getrandom(&sharing.nonce, sizeof(sharing.nonce), 0) != (ssize_t)sizeof(sharing.nonce))
        return false;
    sharing.socket = xs_ipc_listen(getpid(), sharing.nonce);
    if (sharing.socket < 0 || !start_thread()) {
        xs_fail(XSEG_ERROR_IO, "no socket to share memory by: %s", strerror(errno));
        return false;
    }
    xs_list_init(&sharing.exports);
    xs_slab_init(&sharing.slab, sizeof(struct export));
    sharing.owner = getpid();
    sharing.ready = true;
    atomic_store(&xs_ipc_has_exports, true);
    return true;
}

/* ---- exporting ------------------------------------------------------------------------------ */

static struct export *add(int device, xs_cu_ptr va)
{
    struct export *x = find_by_va(va);
    if (x)
        return x;
    x = xs_slab_get(&sharing.slab);
    if (!x)
        return NULL;
    xs_list_init(&x->link);
    x->device = device;
    x->va = va;
    if (getrandom(&x->token, sizeof(x->token), 0) != (ssize_t)sizeof(x->token)) {
        xs_slab_put(&sharing.slab, x);
        return NULL;
    }
    xs_list_push_back(&sharing.exports, &x->link);
    return x;
}

static bool can_share(struct xs_device *dev, size_t pieces)
{
    bool shareable = atomic_load(&dev->extents.handle_types) & XS_CU_HANDLE_POSIX_FD;
    if (pieces && pieces <= PIECES_MAX && shareable && xs_driver_has(XS_CALL_mem_export))
        return true;
    xs_fail(XSEG_ERROR_NOT_SUPPORTED, "this memory cannot be shared: %s",
            pieces ? "handle_type is not posix_fd, or there are too many pieces"
                   : "it is no expandable segment's");
    return false;
}

bool xs_ipc_export(struct xs_ipc_blob *blob, xs_cu_ptr va, size_t *offset)
{
    struct xs_backing first;
    struct xs_inside inside = xs_inside_find(va);
    if (!inside.requested) {
        xs_fail(XSEG_ERROR_UNKNOWN_POINTER, "0x%llx is in no live allocation of xseg", va);
        return false;
    }
    size_t pieces = xs_inside_backing(inside.dev, inside.va, &first, 1);
    if (!can_share(inside.dev, pieces))
        return false;
    *offset = va - inside.va;
    pthread_mutex_lock(&sharing.lock);
    const struct export *x = start() ? add(inside.dev->caps.ordinal, inside.va) : NULL;
    if (x)
        *blob = (struct xs_ipc_blob){
            .version = XS_IPC_VERSION,
            .pid = (int32_t)getpid(),
            .nonce = sharing.nonce,
            .token = x->token,
            .offset = inside.va - first.va,
            .bytes = inside.requested,
            .device = inside.dev->caps.ordinal,
            .pieces = (uint32_t)pieces,
        };
    pthread_mutex_unlock(&sharing.lock);
    if (x)
        memcpy(blob->magic, XS_IPC_MAGIC, sizeof(blob->magic));
    return x != NULL;
}
