/* Allocating and freeing on one device. */
#ifndef XS_CORE_ALLOC_H
#define XS_CORE_ALLOC_H

#include "core/device.h"

/* One request on its way down the ladder. */
struct xs_request {
    struct xs_device *dev;
    size_t requested;
    size_t bytes; /* rounded */
    struct xs_stream *stream;
    xs_cu_stream handle; /* alive while the call lasts */
};

/* 0 < bytes. Errors as xseg_malloc(). */
enum xseg_result xs_alloc(struct xs_device *dev, size_t bytes, xs_cu_stream handle, void **ptr);

/* The block is the device's and was found in the address map. Errors: UNKNOWN_POINTER (freed meanwhile). */
enum xseg_result xs_free(struct xs_device *dev, struct xs_block *block);

/* A block that a rung has made LIVE is handed out: counted, and found by its address. Under HEAP. */
void xs_alloc_hand_out(const struct xs_request *request, struct xs_block *block);

/* Best fit for the request, made LIVE and handed out; NULL: none. Takes HEAP. */
struct xs_block *xs_alloc_best_fit(const struct xs_request *request);

/* Whether new requests are served by the expandable heap. Under HEAP. */
bool xs_alloc_is_expandable(const struct xs_device *dev);

#endif
