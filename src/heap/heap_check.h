/*
 * Proves a heap: the invariants H1 to H12 of docs/invariants.md, one function each.
 *
 * Never aborts: the caller decides. For tests, in every build; about 100 ns a block. Records that are so
 * broken that they cannot be walked (a wild pointer) are beyond it.
 */
#ifndef XS_HEAP_HEAP_CHECK_H
#define XS_HEAP_HEAP_CHECK_H

#include "base/base.h"
#include "heap/heap.h"

/* The first invariant found broken, and where: "H3: ...". */
struct xs_finding {
    char text[240];
};

/* False: broken, and *finding says what. Under HEAP; on the way of a growth BUSY blocks are fine. */
bool xs_heap_check(const struct xs_heap *heap, struct xs_finding *finding);

/* For checkers: writes the text and returns false. */
bool xs_broken(struct xs_finding *finding, const char *fmt, ...) XS_PRINTF(2, 3);

#endif
