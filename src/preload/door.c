#include "preload/door.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/runtime.h"
#include "driver/driver.h"
#include "preload/entry.h"

/* Any address of ours, and the name by which copies of this library find each other. */
XS_EXPORT const char xs_preload_copy = 1;

enum state { UNKNOWN, OPEN, SHUT };

static struct {
    _Atomic int state;
    _Atomic(xs_dlsym_fn) dlsym;
    _Atomic(xs_dlsym_fn) next;
    _Atomic(void *) driver; /* handle of libcuda */
} door;

/* ---- the C library's dlsym ------------------------------------------------------------------ */

/* By version, since the name alone would find this library's. */
static xs_dlsym_fn find_dlsym(void)
{
    static const char *const versions[] = {"GLIBC_2.34", "GLIBC_2.2.5", "GLIBC_2.17"};
    void *found = NULL;
    for (size_t i = 0; i < XS_COUNT_OF(versions) && !found; i++)
        found = dlvsym(RTLD_NEXT, "dlsym", versions[i]);
    xs_dlsym_fn fn;
    memcpy(&fn, &found, sizeof(fn));
    return fn;
}

xs_dlsym_fn xs_door_dlsym(void)
{
    xs_dlsym_fn fn = atomic_load_explicit(&door.dlsym, memory_order_acquire);
    if (xs_likely(fn != NULL))
        return fn;
    fn = find_dlsym();
    atomic_store_explicit(&door.dlsym, fn, memory_order_release);
    return fn;
}

xs_dlsym_fn xs_door_next_dlsym(void)
{
    xs_dlsym_fn fn = atomic_load_explicit(&door.next, memory_order_acquire);
    if (xs_likely(fn != NULL))
        return fn;
    void *found = xs_door_dlsym() ? xs_door_dlsym()(RTLD_NEXT, "dlsym") : NULL;
    memcpy(&fn, &found, sizeof(fn));
    if (!fn)
        fn = xs_door_dlsym();
    atomic_store_explicit(&door.next, fn, memory_order_release);
    return fn;
}

/* ---- on or off ------------------------------------------------------------------------------ */

static enum state look(void)
{
    const char *text = getenv("XSEG_PRELOAD");
    xs_dlsym_fn find = xs_door_dlsym();
    bool first = find && find(RTLD_DEFAULT, "xs_preload_copy") == (const void *)&xs_preload_copy;
    return first && !(text && strcmp(text, "0") == 0) ? OPEN : SHUT;
}

/* Two threads may look at once, and the first answer counts. Neither may wait for the other: one that looks waits for
 * the loader's lock, and one that holds that, in the constructor of a library, may come here. */
bool xs_door_is_open(void)
{
    int state = atomic_load_explicit(&door.state, memory_order_acquire);
    if (xs_unlikely(state == UNKNOWN)) {
        int seen = look();
        if (atomic_compare_exchange_strong(&door.state, &state, seen))
            state = seen;
    }
    return state == OPEN;
}

/* ---- files ---------------------------------------------------------------------------------- */

/* Where this library begins and ends in memory: the linker's. */
extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char _end[] __attribute__((visibility("hidden")));

static const void *file_base(const void *code)
{
    Dl_info info;
    return dladdr(code, &info) ? info.dli_fbase : NULL;
}

bool xs_door_is_same_file(const void *code, const void *function)
{
    const void *base = file_base(code);
    return base && base == file_base(function);
}

bool xs_door_is_own(const void *code)
{
    return (const char *)code >= __ehdr_start && (const char *)code < _end;
}

/* ---- the driver ----------------------------------------------------------------------------- */

static void *driver_handle(void)
{
    void *handle = atomic_load_explicit(&door.driver, memory_order_acquire);
    if (xs_likely(handle != NULL))
        return handle;
    handle = dlopen(XS_DRIVER_DEFAULT_LIBRARY, RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD);
    if (handle)
        atomic_store_explicit(&door.driver, handle, memory_order_release);
    return handle;
}

void *xs_door_driver_symbol(const char *symbol)
{
    xs_dlsym_fn find = xs_door_dlsym();
    void *handle = driver_handle();
    if (!find)
        return NULL;
    return find(handle ? handle : RTLD_NEXT, symbol);
}

enum xseg_result xs_door_use_driver(void)
{
    if (xs_driver_is_loaded())
        return XSEG_OK;
    Dl_info info;
    const void *native = xs_entry_native(XS_ENTRY_cuMemAlloc_v2);
    if (!native || !dladdr(native, &info))
        return XSEG_ERROR_NO_DRIVER;
    return xs_runtime_use_driver(info.dli_fname);
}

/* ---- what is behind us ---------------------------------------------------------------------- */

/* In a file that is loaded, or in what it depends on. */
static void *find_in(const char *file, const char *symbol)
{
    void *handle = dlopen(file, RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD);
    if (!handle)
        return NULL;
    void *found = xs_door_dlsym()(handle, symbol);
    dlclose(handle); /* it stays loaded: whoever calls into it holds it */
    return found && !xs_door_is_own(found) ? found : NULL;
}

static int note_runtime(struct dl_phdr_info *info, size_t bytes, void *file)
{
    (void)bytes;
    const char *slash = strrchr(info->dlpi_name, '/');
    if (strncmp(slash ? slash + 1 : info->dlpi_name, "libcudart", 9) != 0)
        return 0;
    snprintf(file, PATH_MAX, "%s", info->dlpi_name);
    return 1;
}

/*
 * The global scope's, which is the usual case; else the caller's own: a library that was loaded for itself alone,
 * as Python's modules are, has its runtime library nowhere else; else, where the caller has left by a jump and is
 * not known, the first runtime library that is loaded.
 */
void *xs_door_next(const char *symbol, const void *caller)
{
    Dl_info info;
    char runtime[PATH_MAX] = "";
    xs_dlsym_fn find = xs_door_dlsym();
    void *found = find ? find(RTLD_NEXT, symbol) : NULL;
    if (!found && find && dladdr(caller, &info))
        found = find_in(info.dli_fname, symbol);
    if (!found && find && dl_iterate_phdr(note_runtime, runtime))
        found = find_in(runtime, symbol);
    return found || !find ? found : find(RTLD_NEXT, symbol); /* once more, for dlerror() */
}
