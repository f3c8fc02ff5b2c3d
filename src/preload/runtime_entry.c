#include "preload/runtime_entry.h"

#include <string.h>

#include "core/alloc.h"
#include "core/runtime.h"
#include "ipc/ipc_export.h"
#include "preload/door.h"
#include "preload/here.h"
#include "preload/order.h"
#include "preload/peer.h"
#include "preload/record.h"
#include "preload/serve.h"

/* cudaErrorInitializationError: what is linked has no runtime library behind it. */
#define NO_RUNTIME 3

typedef int malloc_fn(void **ptr, size_t bytes);
typedef int free_fn(void *ptr);
typedef int set_device_fn(int device);
XS_EXPORT int cudaMalloc(void **ptr, size_t bytes);
XS_EXPORT int cudaFree(void *ptr);
XS_EXPORT int cudaSetDevice(int device);

bool xs_runtime_entry_is(const char *symbol)
{
    static const char *const names[] = {
#define X(symbol, text) #symbol,
        XS_RUNTIME_ENTRY_LIST(X)
#undef X
    };
    for (size_t i = 0; i < XS_COUNT_OF(names); i++)
        if (strcmp(symbol, names[i]) == 0)
            return true;
    return false;
}

/*
 * The runtime library's function that this caller would have got. Several may be loaded, each with an error slot
 * of its own; a thread that comes back from the same places is spared the search.
 */
#define PLACES 8

struct found {
    const void *caller;
    void *fn;
};

static void *next(struct found places[PLACES], const char *symbol, const void *caller)
{
    struct found *place = &places[(uintptr_t)caller / 4 % PLACES];
    if (xs_likely(place->caller == caller))
        return place->fn;
    void *fn = xs_door_next(symbol, caller);
    if (fn)
        *place = (struct found){caller, fn};
    return fn;
}

#define CALL_NEXT(symbol, type, ...)                                                               \
    do {                                                                                           \
        static __thread struct found places[PLACES] __attribute__((tls_model("initial-exec")));    \
        type *fn;                                                                                  \
        *(void **)&fn = next(places, symbol, __builtin_return_address(0));                         \
        return fn ? fn(__VA_ARGS__) : NO_RUNTIME;                                                  \
    } while (0)

/* The cache of the calling thread, where it may be used without asking the runtime library, and nobody keeps a
 * record. */
static struct xs_cache *own_cache(void)
{
    struct xs_here *here = &xs_here_of_thread;
    if (xs_unlikely(!here->settled || xs_order_is_several() || xs_record_is_on() ||
                    atomic_load(&xs_ipc_has_exports) || xs_here_enter(&here) || !here->settled ||
                    !here->dev))
        return NULL; /* settled: the door is open, and the driver initialised */
    const struct xs_thread *t = xs_thread_current;
    return xs_likely(t != NULL) ? t->cache[here->ordinal] : NULL;
}

static bool malloc_hit(void **ptr, size_t bytes)
{
    struct xs_cache *c = own_cache();
    if (!c || !ptr || !xs_serve_may(&xs_here_of_thread, bytes))
        return false;
    struct xs_block *block = xs_alloc_hit(c, bytes, xs_alloc_known_stream(c, NULL));
    if (!block)
        return false;
    *ptr = (void *)(uintptr_t)xs_block_va(block);
    return true;
}

static bool free_hit(void *ptr)
{
    struct xs_cache *c = ptr ? own_cache() : NULL;
    struct xs_block *block = c ? xs_runtime_find(ptr) : NULL;
    if (!block || block->heap->owner != c->device)
        return false;
    return xs_free_hit(c, block);
}

int cudaMalloc(void **ptr, size_t bytes)
{
    if (xs_likely(malloc_hit(ptr, bytes)))
        return 0;
    CALL_NEXT("cudaMalloc", malloc_fn, ptr, bytes);
}

int cudaFree(void *ptr)
{
    if (xs_likely(free_hit(ptr)))
        return 0;
    CALL_NEXT("cudaFree", free_fn, ptr);
}

int cudaSetDevice(int device)
{
    xs_here_of_thread.settled = false;
    CALL_NEXT("cudaSetDevice", set_device_fn, device);
}
