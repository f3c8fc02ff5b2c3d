#include "ipc/ipc_import.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/list.h"
#include "base/meta.h"
#include "driver/driver.h"
#include "ipc/ipc_export.h"

struct import {
    struct xs_list link;
    struct xs_ipc_blob blob;
    xs_cu_context context;
    xs_cu_ptr base; /* of the range */
    size_t bytes;
    size_t mapped; /* from the base on */
    size_t users;
};

/* Guarded by lock, also while memory is fetched: a second thread that opens the same finds it there. */
static struct {
    pthread_mutex_t lock;
    struct xs_list list;
    struct xs_slab slab;
    bool ready;
} imports = {.lock = PTHREAD_MUTEX_INITIALIZER};

bool xs_ipc_is_blob(const void *handle)
{
    return memcmp(handle, XS_IPC_MAGIC, sizeof(XS_IPC_MAGIC) - 1) == 0;
}

static xs_cu_ptr start_of(const struct import *m)
{
    return m->base + m->blob.offset;
}

static xs_cu_result malformed(void)
{
    xs_fail(XSEG_ERROR_INVALID_VALUE, "the handle of shared memory is damaged");
    return XS_CUDA_ERROR_INVALID_VALUE;
}

/* ---- mapping -------------------------------------------------------------------------------- */

static xs_cu_result map_piece(struct import *m, int file, size_t bytes)
{
    xs_cu_mem mem;
    if (bytes > m->bytes - m->mapped)
        return malformed();
    xs_cu_result code = xs_cu_mem_import(&mem, (void *)(intptr_t)file, XS_CU_HANDLE_POSIX_FD);
    if (code)
        return code;
    code = xs_cu_mem_map(m->base + m->mapped, bytes, 0, mem, 0);
    xs_cu_mem_release(mem); /* the mapping keeps it */
    m->mapped += code ? 0 : bytes;
    return code;
}

static void unmap(struct import *m)
{
    if (m->mapped)
        xs_cu_mem_unmap(m->base, m->mapped);
    if (m->base)
        xs_cu_mem_unreserve(m->base, m->bytes);
}

static xs_cu_result open_access(const struct import *m)
{
    xs_cu_device device;
    xs_cu_result code = xs_cu_ctx_get_device(&device);
    const struct xs_cu_access_desc access = {{XS_CU_LOCATION_DEVICE, device},
                                             XS_CU_ACCESS_READWRITE};
    return code ? code : xs_cu_mem_set_access(m->base, m->bytes, &access, 1);
}

/* ---- fetching ------------------------------------------------------------------------------- */

struct fetched {
    size_t count;
    int *files;
    uint64_t *bytes;
    uint64_t total_bytes;
};

static void close_all(const struct fetched *f, size_t room)
{
    for (size_t i = 0; i < f->count; i++)
        close(f->files[i]);
    xs_meta_unmap(f->files, room * sizeof(*f->files));
    xs_meta_unmap(f->bytes, room * sizeof(*f->bytes));
}

static bool receive_all(int socket, struct fetched *f, size_t expected)
{
    struct xs_ipc_pieces pieces;
    int files[XS_IPC_BATCH];
    while (f->count < expected) {
        if (!xs_ipc_receive_pieces(socket, &pieces, files))
            return false;
        for (uint32_t i = 0; i < pieces.count; i++) {
            if (f->count == expected) {
                close(files[i]);
                continue;
            }
            f->bytes[f->count] = pieces.bytes[i];
            f->files[f->count++] = files[i];
            f->total_bytes += pieces.bytes[i];
        }
    }
    return true;
}

static bool fetch(const struct xs_ipc_blob *blob, struct fetched *f)
{
    int socket = xs_ipc_connect(blob->pid, blob->nonce);
    if (socket < 0) {
        xs_fail(XSEG_ERROR_IO, "process %d, which has shared memory, is gone: %s", blob->pid,
                strerror(errno));
        return false;
    }
    bool same = xs_ipc_is_same_user(socket);
    bool ok =
        same && xs_ipc_send_token(socket, blob->token) && receive_all(socket, f, blob->pieces);
    close(socket);
    if (!ok)
        xs_fail(XSEG_ERROR_IO, "process %d does not share this memory: %s", blob->pid,
                same ? "it has been freed, or cannot be shared" : "it is another user's");
    return ok;
}

static xs_cu_result map_all(struct import *m, const struct fetched *f)
{
    m->bytes = f->total_bytes;
    if (m->blob.offset > m->bytes || m->blob.bytes > m->bytes - m->blob.offset)
        return malformed();
    xs_cu_result code = xs_cu_mem_reserve(&m->base, m->bytes, 0, 0, 0);
    if (code) {
        m->base = 0;
        return code;
    }
    for (size_t i = 0; i < f->count && !code; i++)
        code = map_piece(m, f->files[i], f->bytes[i]);
    return code ? code : open_access(m);
}

#define PIECES_MAX 4096

static xs_cu_result fetch_and_map(struct import *m)
{
    size_t room = m->blob.pieces;
    if (!room || room > PIECES_MAX)
        return malformed();
    struct fetched f = {.files = xs_meta_map(room * sizeof(*f.files)),
                        .bytes = xs_meta_map(room * sizeof(*f.bytes))};
    xs_cu_result code = XS_CUDA_ERROR_OUT_OF_MEMORY;
    if (f.files && f.bytes)
        code = fetch(&m->blob, &f) ? map_all(m, &f) : XS_CUDA_ERROR_MAP_FAILED;
    if (f.files && f.bytes)
        close_all(&f, room);
    if (code)
        unmap(m);
    return code;
}

/* ---- the table ------------------------------------------------------------------------------ */

static struct import *find_same(const struct xs_ipc_blob *blob, xs_cu_context context)
{
    XS_LIST_FOR_EACH(link, &imports.list) {
        struct import *m = XS_CONTAINER_OF(link, struct import, link);
        if (m->context == context && memcmp(&m->blob, blob, sizeof(*blob)) == 0)
            return m;
    }
    return NULL;
}

static struct import *find_at(xs_cu_ptr va)
{
    for (struct xs_list *link = imports.ready ? imports.list.next : &imports.list;
         link && link != &imports.list; link = link->next) {
        struct import *m = XS_CONTAINER_OF(link, struct import, link);
        if (va - start_of(m) < m->blob.bytes)
            return m;
    }
    return NULL;
}

static xs_cu_result add(const struct xs_ipc_blob *blob, xs_cu_context context, struct import **out)
{
    struct import *m = xs_slab_get(&imports.slab);
    if (!m)
        return XS_CUDA_ERROR_OUT_OF_MEMORY;
    xs_list_init(&m->link);
    m->blob = *blob;
    m->context = context;
    xs_cu_result code = fetch_and_map(m);
    if (code) {
        xs_slab_put(&imports.slab, m);
        return code;
    }
    xs_list_push_back(&imports.list, &m->link);
    *out = m;
    return XS_CUDA_SUCCESS;
}

static void begin(void)
{
    if (imports.ready)
        return;
    xs_list_init(&imports.list);
    xs_slab_init(&imports.slab, sizeof(struct import));
    imports.ready = true;
}

/* Refuses what natively, too, a process cannot open: its own. */
static xs_cu_result check(const struct xs_ipc_blob *blob)
{
    if (blob->version != XS_IPC_VERSION) {
        xs_fail(XSEG_ERROR_NOT_SUPPORTED, "memory was shared by another version of xseg");
        return XS_CUDA_ERROR_INVALID_VALUE;
    }
    if (!xs_ipc_is_own(blob))
        return XS_CUDA_SUCCESS;
    xs_fail(XSEG_ERROR_INVALID_VALUE, "memory was shared by this very process");
    return XS_CUDA_ERROR_INVALID_CONTEXT;
}

static xs_cu_result open_in(xs_cu_context context, const struct xs_ipc_blob *blob, xs_cu_ptr *va)
{
    xs_cu_result code = XS_CUDA_SUCCESS;
    pthread_mutex_lock(&imports.lock);
    begin();
    struct import *m = find_same(blob, context);
    if (!m)
        code = add(blob, context, &m);
    if (!code) {
        m->users++;
        *va = start_of(m);
    }
    pthread_mutex_unlock(&imports.lock);
    return code;
}

xs_cu_result xs_ipc_open(const struct xs_ipc_blob *blob, xs_cu_ptr *va)
{
    xs_cu_context context = NULL;
    xs_error_clear();
    xs_cu_result code = check(blob);
    if (!code)
        code = xs_cu_ctx_get_current(&context);
    if (!code)
        code = context ? open_in(context, blob, va) : XS_CUDA_ERROR_INVALID_CONTEXT;
    if (code && !*xs_error_text())
        xs_driver_result(code);
    return code;
}

/* Where the context is gone there is nothing to wait for. */
static xs_cu_result wait_and_unmap(struct import *m)
{
    xs_cu_context popped;
    xs_cu_result pushed = xs_cu_ctx_push(m->context);
    xs_cu_result code = pushed ? pushed : xs_cu_ctx_synchronize();
    unmap(m);
    if (!pushed)
        xs_cu_ctx_pop(&popped);
    return code;
}

bool xs_ipc_close(xs_cu_ptr va, xs_cu_result *code)
{
    pthread_mutex_lock(&imports.lock);
    struct import *m = find_at(va);
    bool found = m && start_of(m) == va;
    *code = XS_CUDA_SUCCESS;
    if (found && --m->users == 0) {
        *code = wait_and_unmap(m);
        xs_list_remove(&m->link);
        xs_slab_put(&imports.slab, m);
    }
    pthread_mutex_unlock(&imports.lock);
    return found;
}

bool xs_ipc_range(xs_cu_ptr va, xs_cu_ptr *base, size_t *bytes)
{
    pthread_mutex_lock(&imports.lock);
    const struct import *m = find_at(va);
    if (m) {
        *base = start_of(m);
        *bytes = m->blob.bytes;
    }
    pthread_mutex_unlock(&imports.lock);
    return m != NULL;
}
