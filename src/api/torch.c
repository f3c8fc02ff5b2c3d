/* The hooks of PyTorch's pluggable allocator: arguments turned round, results into the log. */
#include "xseg/torch.h"

#include <stdatomic.h>
#include <stdio.h>

#include "api/torch_memory.h"
#include "api/torch_pools.h"
#include "api/torch_throw.h"
#include "base/error.h"
#include "base/log.h"
#include "core/alloc.h"
#include "core/runtime.h"
#include "ipc/ipc_export.h"
#include "xseg/pools.h"

/* Each kind of failure is told once: the same one may come with every tensor. */
enum complaint { ALLOCATION, FREE, SIZE, RESET, FRACTION, RECORD, START, POOL, COMPLAINTS };
static _Atomic bool told[COMPLAINTS];

static bool is_news(enum complaint kind)
{
    return !atomic_exchange(&told[kind], true);
}

static void complain(enum complaint kind, enum xseg_result e, const char *what)
{
    if (e && is_news(kind))
        xs_log("torch: %s: %s: %s (told once)", what, xseg_result_name(e), xs_error_text());
}

/* ---- memory --------------------------------------------------------------------------------- */

static enum xseg_result allocate(void **ptr, size_t bytes, int device, xseg_stream stream)
{
    xseg_pool pool;
    *ptr = NULL;
    if (xs_unlikely(xs_torch_pools_in_use()) && xs_torch_pools_find(device, stream, &pool))
        return xseg_pool_malloc(ptr, bytes, pool, stream);
    return xseg_malloc(ptr, bytes, device, stream);
}

static _Atomic(void (*)(void *ptr, size_t bytes, int device)) observer;

void xseg_torch_observe(void (*new_observer)(void *ptr, size_t bytes, int device))
{
    atomic_store(&observer, new_observer);
}

static void *observed(void *ptr, size_t bytes, int device)
{
    void (*observe)(void *, size_t, int) = atomic_load_explicit(&observer, memory_order_acquire);
    if (xs_unlikely(observe && ptr))
        observe(ptr, bytes, device);
    return ptr;
}

void *xseg_torch_malloc(size_t bytes, int device, xseg_stream stream)
{
    void *ptr;
    complain(ALLOCATION, allocate(&ptr, bytes, device, stream), "allocation");
    return observed(ptr, bytes, device);
}

/* Programs look for PyTorch's own beginning in the text. */
#define BEGINNING "CUDA out of memory. "

static void refuse(enum xseg_result e)
{
    char text[sizeof(BEGINNING) + XS_ERROR_TEXT_BYTES];
    bool out_of_memory = e == XSEG_ERROR_OUT_OF_MEMORY;
    snprintf(text, sizeof(text), "%s%s", out_of_memory ? BEGINNING : "", xs_error_text());
    xs_torch_throw(out_of_memory, text);
    complain(ALLOCATION, e, "allocation");
}

void *xseg_torch_malloc_or_throw(size_t bytes, int device, xseg_stream stream)
{
    void *ptr;
    enum xseg_result e = allocate(&ptr, bytes, device, stream);
    if (xs_unlikely(e))
        refuse(e);
    return observed(ptr, bytes, device);
}

void xs_torch_delete(void *ptr)
{
    if (!ptr)
        return;
    xs_ipc_forget((uintptr_t)ptr);
    complain(FREE, xseg_free(ptr), "free");
}

/* What PyTorch says of the pointer is what it was told; anything else is a plug-in of another signature. */
static void compare(void *ptr, size_t bytes, int device)
{
    const struct xs_block *block = xs_runtime_find(ptr);
    if (xs_unlikely(block && (block->requested != bytes || block->device != device)) &&
        is_news(SIZE))
        xs_log("torch: %p is freed with %zu bytes on device %d, and was %zu on device %d (told "
               "once)",
               ptr, bytes, device, block->requested, block->device);
}

void xseg_torch_free(void *ptr, size_t bytes, int device, xseg_stream stream)
{
    (void)stream; /* the one it was allocated for, which the block knows */
    if (!ptr)
        return;
    compare(ptr, bytes, device);
    xs_torch_delete(ptr);
}

void xseg_torch_give_back(void *ptr, size_t bytes, int device, xseg_stream stream)
{
    xseg_torch_free(ptr, bytes, device, stream);
    complain(RESET, xseg_empty_cache(device), "giving back");
}

void *xseg_torch_base_allocation(void *ptr, size_t *bytes)
{
    size_t unused;
    if (!bytes)
        bytes = &unused;
    if (!ptr || xseg_pointer_sizes(ptr, NULL, bytes))
        *bytes = 0;
    return ptr;
}

void xseg_torch_record_stream(void *ptr, xseg_stream stream)
{
    if (ptr)
        complain(RECORD, xseg_record_stream(ptr, stream), "record_stream");
}

/* ---- the device ----------------------------------------------------------------------------- */

void xseg_torch_init(int device_count)
{
    if (device_count > 0) /* 0: called when the allocator is made, before anything is known */
        complain(START, xs_runtime_start(), "init");
}

void xseg_torch_reset(void)
{
    complain(RESET, xseg_empty_cache(XSEG_CURRENT_DEVICE), "empty_cache");
}

void xseg_torch_memory_fraction(double fraction, int device)
{
    complain(FRACTION, xseg_set_memory_fraction(device, fraction), "memory fraction");
}

/* ---- graphs --------------------------------------------------------------------------------- */

enum xseg_result xseg_torch_create_pool(int device, struct xseg_torch_pool id, unsigned flags,
                                        uint64_t *pool)
{
    if (!pool)
        return xs_fail(XSEG_ERROR_INVALID_VALUE, "xseg_torch_create_pool: pool is NULL");
    return xs_torch_pools_create(device, id, flags, pool);
}

void xseg_torch_begin_allocate_to_pool(int device, struct xseg_torch_pool id, const void *filter)
{
    complain(POOL, xs_torch_pools_begin(device, id, filter), "begin_allocate_to_pool");
}

void xseg_torch_end_allocate_to_pool(int device, struct xseg_torch_pool id)
{
    complain(POOL, xs_torch_pools_end(device, id), "end_allocate_to_pool");
}

void xseg_torch_release_pool(int device, struct xseg_torch_pool id)
{
    complain(POOL, xs_torch_pools_release(device, id), "release_pool");
}

int xseg_torch_pool_id(uint64_t pool, struct xseg_torch_pool *id)
{
    return id && xs_torch_pools_id(pool, id);
}

int xseg_torch_capture_failed(void)
{
    return xs_torch_pools_abandon();
}
