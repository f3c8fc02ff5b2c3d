/*
 * The table of entries, from entry_list.h and work_list.h: each with the function that stands before it and the
 * driver's own. Thread-safe, takes no lock: a native pointer is looked up when it is first needed, and every
 * look-up finds the same.
 */
#ifndef XS_PRELOAD_ENTRY_H
#define XS_PRELOAD_ENTRY_H

#include <stdatomic.h>

#include "base/base.h"
#include "preload/entry_list.h"
#include "preload/work_list.h"

/* An exported function: visible, and the program's in place of the driver's. */
#define XS_EXPORT __attribute__((visibility("default")))

/* Every row, as X(symbol, since, params, args). */
#define XS_ENTRY_WITH_TWIN(symbol, since, params, args, stream)                                    \
    XS_ENTRY_ROW(symbol, since, params, args)                                                      \
    XS_ENTRY_ROW(symbol##_ptsz, since, params, args)
#define XS_ENTRY_WITHOUT_TEXT(symbol, since, params, args, group, text)                            \
    XS_ENTRY_ROW(symbol, since, params, args)
#define XS_ENTRY_ALL                                                                               \
    XS_ENTRY_BODY_LIST(XS_ENTRY_WITHOUT_TEXT)                                                      \
    XS_ENTRY_RETRY_LIST(XS_ENTRY_ROW)                                                              \
    XS_ENTRY_WORK_LIST(XS_ENTRY_WITH_TWIN)                                                         \
    XS_ENTRY_THREAD_LIST(XS_ENTRY_ROW)

enum xs_entry {
#define XS_ENTRY_ROW(symbol, ...) XS_ENTRY_##symbol,
    XS_ENTRY_ALL
#undef XS_ENTRY_ROW
        XS_ENTRY_COUNT
};

/* The driver's function, or NULL where it has none of that name. */
void *xs_entry_find_native(enum xs_entry entry);
/* What a look-up of the program's has found; a first one wins. */
void xs_entry_note_native(enum xs_entry entry, void *native);

const char *xs_entry_symbol(enum xs_entry entry);
void *xs_entry_hook(enum xs_entry entry);

/* The entry of a symbol, or of what cuGetProcAddress is asked for; XS_ENTRY_COUNT: none of ours. */
enum xs_entry xs_entry_of_symbol(const char *symbol);
enum xs_entry xs_entry_of_request(const char *base, int version, uint64_t flags);

extern _Atomic(void *) xs_entry_natives[XS_ENTRY_COUNT];

static inline void *xs_entry_native(enum xs_entry entry)
{
    void *native = atomic_load_explicit(&xs_entry_natives[entry], memory_order_acquire);
    return xs_likely(native != NULL) ? native : xs_entry_find_native(entry);
}

/* The exported functions, and xs_native_<symbol>(): the driver's own. */
#define XS_ENTRY_ROW(symbol, since, params, args)                                                  \
    XS_EXPORT xs_cu_result symbol params;                                                          \
    static inline xs_cu_result xs_native_##symbol params                                           \
    {                                                                                              \
        xs_cu_result(*native) params = (xs_cu_result(*) params)xs_entry_native(XS_ENTRY_##symbol); \
        return native ? native args : XS_CUDA_ERROR_NOT_FOUND;                                     \
    }
XS_ENTRY_ALL
#undef XS_ENTRY_ROW

#endif
