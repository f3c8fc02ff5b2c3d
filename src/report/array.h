/*
 * A growing array in memory of its own: millions of entries, grown in place by
 * mremap. Zeroed when new. Not thread-safe.
 */
#ifndef XS_REPORT_ARRAY_H
#define XS_REPORT_ARRAY_H

#include <sys/mman.h>

#include "base/base.h"

struct xs_array {
    void *base;
    size_t bytes;
};

/* Makes room for `need` bytes, at least doubling. False: no memory, and the array is as it was. */
static inline bool xs_array_reserve(struct xs_array *a, size_t need)
{
    if (xs_likely(need <= a->bytes))
        return true;
    size_t want = xs_round_up(xs_max(need, a->bytes * 2), 64 * XS_KIB);
    void *p = a->base == NULL
                  ? mmap(NULL, want, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
                  : mremap(a->base, a->bytes, want, MREMAP_MAYMOVE);
    if (p == MAP_FAILED)
        return false;
    a->base = p;
    a->bytes = want;
    return true;
}

static inline void xs_array_drop(struct xs_array *a)
{
    if (a->base != NULL)
        munmap(a->base, a->bytes);
    a->base = NULL;
    a->bytes = 0;
}

#endif
