/*
 * dlsym, and cuGetProcAddress: where programs get the driver's functions from.
 *
 * dlsym must be the last thing that is called, in place of our own return: the C library looks at the return
 * address to see whose "next" RTLD_NEXT means. This file is compiled so that it is (see the Makefile).
 */
#include <dlfcn.h>
#include <string.h>

#include "preload/door.h"
#include "preload/entry.h"
#include "preload/runtime_entry.h"

XS_EXPORT void *dlsym(void *restrict handle, const char *restrict name);

/*
 * Our function where the program asks a handle for one of the driver's, and would get the driver's own. What
 * the driver asks of itself, and we of it, stays. The pseudo handles find us by themselves.
 */
static void *substitute(enum xs_entry entry, void *handle, const char *name, const void *caller)
{
    if (entry == XS_ENTRY_COUNT || handle == RTLD_NEXT || handle == RTLD_DEFAULT ||
        !xs_door_is_open())
        return NULL;
    void *native = xs_door_dlsym()(handle, name);
    if (!native || native == xs_entry_hook(entry) || xs_door_is_same_file(caller, native))
        return NULL;
    void *driver = xs_entry_native(entry);
    if (driver && driver != native)
        return NULL; /* a library's own function of that name */
    xs_entry_note_native(entry, native);
    return xs_entry_hook(entry);
}

/* Names that this library alone defines are not there for the program: it may ask to learn whether there is
 * CUDA at all. */
static bool may_be_ours_alone(enum xs_entry entry, void *handle, const char *name)
{
    if (entry == XS_ENTRY_COUNT && !xs_runtime_entry_is(name))
        return false;
    return handle == RTLD_DEFAULT || handle == RTLD_NEXT ||
           xs_door_is_own(xs_door_dlsym()(handle, name));
}

void *dlsym(void *restrict handle, const char *restrict name)
{
    const void *caller = __builtin_return_address(0);
    if (name[0] == 'c' && name[1] == 'u' && !xs_door_is_own(caller) && xs_door_dlsym()) {
        enum xs_entry entry = xs_entry_of_symbol(name);
        void *hook = substitute(entry, handle, name, caller);
        if (hook)
            return hook;
        if (may_be_ours_alone(entry, handle, name) && !xs_door_next(name, caller))
            return NULL; /* dlerror() has the reason */
    }
    xs_dlsym_fn next = xs_door_next_dlsym();
    return next ? next(handle, name) : NULL;
}

/* ---- cuGetProcAddress ----------------------------------------------------------------------- */

/* Versions that are newer than all we know may have other parameters: then the driver's function has to be the
 * one that we know. */
#define NEWEST_KNOWN 13999

static void substitute_found(const char *name, void **fn, int version, uint64_t flags)
{
    enum xs_entry entry = name && fn && *fn && xs_door_is_open()
                              ? xs_entry_of_request(name, version, flags)
                              : XS_ENTRY_COUNT;
    if (entry == XS_ENTRY_COUNT || (version > NEWEST_KNOWN && *fn != xs_entry_native(entry)))
        return;
    xs_entry_note_native(entry, *fn);
    *fn = xs_entry_hook(entry);
}

xs_cu_result cuGetProcAddress(const char *name, void **fn, int version, uint64_t flags)
{
    xs_cu_result code = xs_native_cuGetProcAddress(name, fn, version, flags);
    if (code == XS_CUDA_SUCCESS)
        substitute_found(name, fn, version, flags);
    return code;
}

xs_cu_result cuGetProcAddress_v2(const char *name, void **fn, int version, uint64_t flags,
                                 int *status)
{
    xs_cu_result code = xs_native_cuGetProcAddress_v2(name, fn, version, flags, status);
    if (code == XS_CUDA_SUCCESS)
        substitute_found(name, fn, version, flags);
    return code;
}
