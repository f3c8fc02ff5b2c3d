/*
 * A std::function<bool(cudaStream_t)> of GNU's C++ library, from C: copied, called, destroyed. Its layout is part of
 * that library's stable ABI (libstdc++.so.6): 16 bytes for the callable or a pointer to it, and two functions. By value
 * it is passed as the address of one that the caller keeps and destroys.
 */
#ifndef XS_API_TORCH_FILTER_H
#define XS_API_TORCH_FILTER_H

#include <stdbool.h>
#include <string.h>

#include "xseg/xseg.h"

struct xs_torch_filter {
    void *functor[2];
    bool (*manage)(void *to, const void *from, int operation); /* NULL: empty */
    bool (*invoke)(const void *functor, xseg_stream *stream);
};

enum { XS_TORCH_FILTER_CLONE = 2, XS_TORCH_FILTER_DESTROY = 3 };

/* from NULL or empty: names every stream. */
static inline void xs_torch_filter_copy(struct xs_torch_filter *to, const void *from)
{
    const struct xs_torch_filter *other = (const struct xs_torch_filter *)from;
    memset(to, 0, sizeof(*to));
    if (!other || !other->manage)
        return;
    other->manage(to->functor, other->functor, XS_TORCH_FILTER_CLONE);
    to->manage = other->manage;
    to->invoke = other->invoke;
}

static inline void xs_torch_filter_destroy(struct xs_torch_filter *filter)
{
    if (filter->manage)
        filter->manage(filter->functor, filter->functor, XS_TORCH_FILTER_DESTROY);
    filter->manage = NULL;
}

static inline bool xs_torch_filter_names(const struct xs_torch_filter *filter, xseg_stream stream)
{
    return !filter->manage || filter->invoke(filter->functor, &stream);
}

#endif
