#include "preload/entry.h"

#include <string.h>

#include "preload/door.h"

_Atomic(void *) xs_entry_natives[XS_ENTRY_COUNT];

static const struct {
    const char *symbol;
    unsigned length;
    int since;
    void (*hook)(void);
} rows[XS_ENTRY_COUNT] = {
#define XS_ENTRY_ROW(symbol, since, params, args)                                                  \
    {#symbol, sizeof(#symbol) - 1, since, (void (*)(void))symbol},
    XS_ENTRY_ALL
#undef XS_ENTRY_ROW
};

const char *xs_entry_symbol(enum xs_entry entry)
{
    return rows[entry].symbol;
}

void *xs_entry_hook(enum xs_entry entry)
{
    void *hook;
    memcpy(&hook, &rows[entry].hook, sizeof(hook));
    return hook;
}

void xs_entry_note_native(enum xs_entry entry, void *native)
{
    void *none = NULL;
    atomic_compare_exchange_strong(&xs_entry_natives[entry], &none, native);
}

void *xs_entry_find_native(enum xs_entry entry)
{
    void *native = xs_door_driver_symbol(rows[entry].symbol);
    if (native)
        xs_entry_note_native(entry, native);
    return native;
}

/* No name here begins with anything else, so most are turned away by two letters, and nearly all others by length. */
enum xs_entry xs_entry_of_symbol(const char *symbol)
{
    if (symbol[0] != 'c' || symbol[1] != 'u')
        return XS_ENTRY_COUNT;
    size_t length = strlen(symbol);
    unsigned i = 0;
    while (i < XS_ENTRY_COUNT &&
           (rows[i].length != length || memcmp(rows[i].symbol, symbol, length) != 0))
        i++;
    return (enum xs_entry)i;
}

/* ---- cuGetProcAddress ----------------------------------------------------------------------- */

/* cuGetProcAddress: CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM */
#define PER_THREAD_STREAM 2

#define LONGEST_SUFFIX 8

/* What stands behind the name that is asked for, of n letters. False: the symbol does not belong to the name. */
static bool suffix_of(unsigned row, const char *base, size_t n, bool *per_thread)
{
    static const struct {
        const char *text;
        bool per_thread;
    } suffixes[] = {{"", false},     {"_v2", false},     {"_ptsz", true},
                    {"_ptds", true}, {"_v2_ptsz", true}, {"_v2_ptds", true}};
    const char *symbol = rows[row].symbol;
    if (rows[row].length < n || rows[row].length > n + LONGEST_SUFFIX ||
        (rows[row].length > n && symbol[n] != '_') || memcmp(symbol, base, n) != 0)
        return false;
    for (size_t i = 0; i < XS_COUNT_OF(suffixes); i++) {
        if (strcmp(symbol + n, suffixes[i].text) == 0) {
            *per_thread = suffixes[i].per_thread;
            return true;
        }
    }
    return false;
}

/* The newest that the version has; with the flag a twin, where there is one. */
enum xs_entry xs_entry_of_request(const char *base, int version, uint64_t flags)
{
    unsigned best = XS_ENTRY_COUNT;
    bool best_is_twin = false;
    size_t n = strlen(base);
    if (base[0] != 'c' || base[1] != 'u')
        return XS_ENTRY_COUNT;
    for (unsigned i = 0; i < XS_ENTRY_COUNT; i++) {
        bool twin;
        if (!suffix_of(i, base, n, &twin) || rows[i].since > version ||
            (twin && !(flags & PER_THREAD_STREAM)))
            continue;
        if (best == XS_ENTRY_COUNT || twin > best_is_twin ||
            (twin == best_is_twin && rows[i].since > rows[best].since)) {
            best = i;
            best_is_twin = twin;
        }
    }
    return (enum xs_entry)best;
}
