/*
 * A pool: heaps of its own, so that its memory is handed out to nobody else. The device's default pool serves
 * what names none; private ones are made by the caller, for a captured graph or for memory that has to lie apart.
 *
 * Address space is the pool's, physical memory the device's: a new pool is filled with extents that are idle
 * elsewhere. While a pool is held, what is mapped in it stays mapped where it is, free or not, since a captured
 * graph may be launched again. Once it is released, its free extents serve other pools like any others. A pool
 * that was destroyed lives on, without a name, until its last block is free and its extents have gone.
 *
 * Records are guarded by HEAP; a pool's address stays that of a pool for as long as the device is open.
 */
#ifndef XS_CORE_POOL_H
#define XS_CORE_POOL_H

#include "base/base.h"
#include "base/list.h"
#include "heap/heap.h"

struct xs_device;
struct xseg_pool_stats;

/* Classic heaps: by block size as PyTorch has it, and one for backend:cudaMalloc, which caches nothing and is the
 * default pool's alone. */
enum { XS_CLASSIC_SMALL, XS_CLASSIC_LARGE, XS_CLASSIC_UNCACHED, XS_CLASSIC_COUNT };

/* Indexes go into the keys of cached blocks. */
#define XS_POOL_LIMIT 4096

/* The most there was. What has left the heaps counts as allocated. */
struct xs_pool_peaks {
    size_t requested; /* looked at when a MiB or a 64th more has left than at the last time */
    size_t allocated;
    size_t reserved;
    size_t look_above; /* bytes that have left */
};

struct xs_pool {
    struct xs_list link; /* in the device's list, the default one first */
    uint64_t id;         /* what the caller knows it by; 0: the default one, or destroyed */
    uint32_t index;
    uint32_t number; /* of all that the device has had; 0: the default one */
    bool held;       /* what is mapped stays where it is */
    bool use_on_oom; /* its free blocks serve the default pool before that is out of memory */
    bool no_split;   /* blocks are whole granules, neither cut nor joined */
    struct xs_pool_peaks peaks;
    uint32_t users; /* routes, requests under way, and who walks over the pools */
    struct xs_heap expandable;
    struct xs_heap classic[XS_CLASSIC_COUNT];
};

static inline struct xs_pool *xs_pool_of_link(struct xs_list *link)
{
    return XS_CONTAINER_OF(link, struct xs_pool, link);
}

static inline bool xs_pool_is_default(const struct xs_pool *pool)
{
    return pool->index == 0;
}

static inline bool xs_pool_is_released(const struct xs_pool *pool)
{
    return !pool->held;
}

/* Destroyed, and used by nobody but the blocks that are live in it. */
static inline bool xs_pool_is_dead(const struct xs_pool *pool)
{
    return !xs_pool_is_default(pool) && !pool->id && !pool->users;
}

/* Whether what is free in `pool` can serve requests of `other`: by itself, or by moving its extents. */
static inline bool xs_pool_serves(const struct xs_pool *pool, const struct xs_pool *other)
{
    return pool == other || !pool->held;
}

/* The heaps of a pool, for the device's default one and for those made later. False: no host memory. */
bool xs_pool_init(struct xs_pool *pool, struct xs_device *dev);
void xs_pool_end(struct xs_pool *pool);

/* flags: a set of enum xseg_pool_flags. Takes HEAP. Errors: HOST_MEMORY, NOT_SUPPORTED (too many). */
enum xseg_result xs_pool_create(struct xs_device *dev, unsigned flags, uint64_t *id);
/* The pool of that name, with HEAP taken, which is held on success and not on an error. Errors: INVALID_VALUE. */
enum xseg_result xs_pool_lock(struct xs_device *dev, uint64_t id, struct xs_pool **pool);
/* No longer held, nor used by any thread or stream, nor known by its name. Under HEAP. */
void xs_pool_disown(struct xs_device *dev, struct xs_pool *pool);
/* Pools that were destroyed and hold nothing any more go. Takes HEAP. */
void xs_pools_collect(struct xs_device *dev);
/* Walks over the pools of a kind without holding HEAP in between: the one after `pool` (NULL: the first), or NULL. The
 * one that is being looked at does not go; who leaves early lets go of it. Takes HEAP. */
struct xs_pool *xs_pool_next(struct xs_device *dev, struct xs_pool *pool,
                             bool (*of)(const struct xs_pool *pool));
void xs_pool_let_go(struct xs_device *dev, struct xs_pool *pool);

/* A name: the number and the ordinal of the device. */
static inline uint64_t xs_pool_name(uint32_t number, int device)
{
    return number ? (uint64_t)number << 6 | (unsigned)device : 0;
}

static inline int xs_pool_device(uint64_t id)
{
    return (int)(id & 63);
}

/* The name of a live block's pool; 0 as in struct xs_pool. Takes HEAP. */
uint64_t xs_pool_id_of(struct xs_device *dev, const struct xs_block *block);

/* A block has left its heaps: raises the peaks. Under HEAP. */
void xs_pool_look(struct xs_pool *pool);
/* Peaks become what there is. Under HEAP. */
void xs_pool_reset_peaks(struct xs_pool *pool);
/* Counted block by block. Under HEAP. */
void xs_pool_read_stats(struct xs_pool *pool, struct xseg_pool_stats *out);

#endif
