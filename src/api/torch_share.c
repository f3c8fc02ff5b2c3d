#include "api/torch_share.h"

#include <stdio.h>
#include <string.h>

#include "api/torch_throw.h"
#include "base/error.h"
#include "base/log.h"
#include "core/runtime.h"
#include "driver/driver.h"
#include "ipc/ipc_export.h"
#include "ipc/ipc_import.h"

static void refuse(const char *what)
{
    char text[XS_ERROR_TEXT_BYTES + 64];
    snprintf(text, sizeof(text), "xseg: %s: %s", what, xs_error_text());
    xs_torch_throw(false, text);
    xs_log("torch: %s", text);
}

/*
 * PyTorch's own handles begin with a version, but for those of just the size of a CUDA handle, which have none. Ours are one
 * byte longer, so that a PyTorch without xseg takes their first byte for a version that it does not know, and says so.
 */
struct handle {
    struct xs_ipc_blob blob;
    char longer;
};
#define HANDLE_BYTES (offsetof(struct handle, longer) + 1)

/* What PyTorch's own allocator makes of a handle of the preload's. */
#define PRELOAD_BYTES (2 + sizeof(struct xs_ipc_blob))

/* ---- the sender ------------------------------------------------------------------------------- */

struct xs_torch_shareable xs_torch_share(void *self, void *ptr)
{
    struct handle handle = {.longer = 0};
    size_t offset = 0;
    (void)self;
    if (!xs_ipc_export(&handle.blob, (uintptr_t)ptr, &offset))
        refuse("a tensor cannot be sent to another process");
    return (struct xs_torch_shareable){(ptrdiff_t)offset, xs_cxx_string_of(&handle, HANDLE_BYTES)};
}

/* ---- the receiver ----------------------------------------------------------------------------- */

/* As long as a shared_ptr to it lives. */
struct opened {
    struct xs_cxx_count count;
    xs_cu_ptr va;
};

static void do_nothing(struct opened *opened)
{
    (void)opened;
}

static void give_up(struct opened *opened)
{
    xs_cu_result code;
    if (!xs_runtime_is_over() && xs_ipc_close(opened->va, &code) && xs_driver_result(code))
        xs_log("torch: memory of another process was closed and the GPU not waited for: %s",
               xs_error_text());
}

static void delete_count(struct opened *opened)
{
    xs_cxx_delete(opened);
}

static void *find_deleter(struct opened *opened, const void *type)
{
    (void)opened, (void)type;
    return NULL;
}

/* A table of virtual functions begins with an offset and a type, which nobody asks for. */
static void (*const functions[])(void) = {
    NULL,
    NULL,
    (void (*)(void))do_nothing,
    (void (*)(void))delete_count,
    (void (*)(void))give_up,
    (void (*)(void))delete_count,
    (void (*)(void))find_deleter,
};

static struct xs_cxx_shared shared_pointer(xs_cu_ptr va)
{
    struct opened *opened = xs_cxx_new(sizeof(*opened));
    *opened = (struct opened){{functions + 2, 1, 1}, va};
    return (struct xs_cxx_shared){(void *)(uintptr_t)va, &opened->count};
}

/* PyTorch has chosen the device, which need not have a context yet. */
static enum xseg_result open_on_device(int ordinal, const struct xs_ipc_blob *blob, xs_cu_ptr *va)
{
    struct xs_device *dev;
    struct xs_context_scope scope;
    enum xseg_result e = xs_runtime_device(ordinal, &dev);
    if (!e)
        e = xs_context_enter(&dev->context, &scope);
    if (e)
        return e;
    bool failed = xs_ipc_open(blob, va) != XS_CUDA_SUCCESS;
    xs_context_leave(&scope);
    return failed ? XSEG_ERROR_DRIVER : XSEG_OK;
}

static const void *blob_in(const struct xs_cxx_string *handle)
{
    const char *blob = handle->length == HANDLE_BYTES    ? handle->text
                       : handle->length == PRELOAD_BYTES ? handle->text + 2
                                                         : NULL;
    return blob && xs_ipc_is_blob(blob) ? blob : NULL;
}

static enum xseg_result open_handle(const struct xs_cxx_string *handle, xs_cu_ptr *va)
{
    struct xs_ipc_blob blob;
    const void *found = blob_in(handle);
    int ordinal, (*get_device)(int *device);
    *(void **)&get_device = xs_cxx_symbol("libtorch_cuda.so", "cudaGetDevice");
    if (!found)
        return xs_fail(XSEG_ERROR_INVALID_VALUE, "its sender does not use xseg");
    if (!get_device || get_device(&ordinal))
        return xs_fail(XSEG_ERROR_NO_DEVICE, "no device is current");
    memcpy(&blob, found, sizeof(blob));
    return open_on_device(ordinal, &blob, va);
}

struct xs_cxx_shared *xs_torch_open(struct xs_cxx_shared *out, void *self,
                                    const struct xs_cxx_string *handle)
{
    xs_cu_ptr va;
    (void)self;
    *out = (struct xs_cxx_shared){NULL, NULL};
    if (open_handle(handle, &va))
        refuse("a tensor of another process cannot be opened");
    else
        *out = shared_pointer(va);
    return out;
}

#if defined(__aarch64__)
__asm__(".text\n"
        ".hidden xs_torch_open_by_x8\n"
        ".globl xs_torch_open_by_x8\n"
        ".type xs_torch_open_by_x8, %function\n"
        "xs_torch_open_by_x8:\n"
        "    hint #34\n" /* bti c: it is called by address */
        "    mov x2, x1\n"
        "    mov x1, x0\n"
        "    mov x0, x8\n"
        "    b xs_torch_open\n"
        ".size xs_torch_open_by_x8, . - xs_torch_open_by_x8\n");
#endif
