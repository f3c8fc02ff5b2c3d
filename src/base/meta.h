/*
 * Memory for the allocator's own records: never from malloc, so that an interposed malloc cannot
 * recurse into us and every byte is counted. Whole mappings, and slabs of equal records.
 */
#ifndef XS_BASE_META_H
#define XS_BASE_META_H

#include "base/base.h"

/* Zeroed pages, taken from the system at once: page by page as they are touched costs twice as much, and in
 * the middle of an allocation. NULL where there are none. Thread-safe. */
void *xs_meta_map(size_t bytes);
void xs_meta_unmap(void *p, size_t bytes);
/* For a range of which most will never be touched: not counted, but for the parts that are put to use. */
void *xs_meta_map_sparse(size_t bytes);
void xs_meta_unmap_sparse(void *p, size_t bytes, size_t used_bytes);
/* A part of such a range will be written now. */
void xs_meta_use(void *p, size_t bytes);
/* Bytes in such mappings, for metadata_bytes. */
size_t xs_meta_bytes(void);

/* Records of one size. Not thread-safe: the owner's lock is held. Memory is never returned before
 * xs_slab_destroy(), so a stale pointer to a record always points to a record of the same kind. */
struct xs_slab {
    size_t record_bytes;
    size_t kept_bytes; /* at a record's beginning: the slab never writes them once it exists */
    void *free;        /* linked through each record's first word that is not kept */
    void *chunks;      /* the latest first */
    size_t free_count;
    size_t unused_in_chunk;
    size_t live;
};

void xs_slab_init(struct xs_slab *slab, size_t record_bytes);
/* For records whose beginning other threads may still be reading without a lock. */
void xs_slab_init_keeping(struct xs_slab *slab, size_t record_bytes, size_t kept_bytes);
/* Zeroed but for the kept bytes, or NULL. */
void *xs_slab_get(struct xs_slab *slab);
/* The same, with anything in it. */
void *xs_slab_get_unset(struct xs_slab *slab);
void xs_slab_put(struct xs_slab *slab, void *record);
/* Makes the next `count` xs_slab_get() calls succeed. False: no host memory. */
bool xs_slab_reserve(struct xs_slab *slab, size_t count);
void xs_slab_destroy(struct xs_slab *slab);

#endif
