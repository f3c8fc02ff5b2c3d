/*
 * The size-class block cache: what one thread freed on one device, ready to be handed out again as it
 * is. A bin holds the free blocks of one rounded size on one stream; taking one is a stack pop.
 *
 * A hit makes no driver call, takes no lock that another thread wants, reads no clock and writes no
 * cache line that another thread reads. The lock is biased towards the owner (base/biased_lock.h); others
 * take it to give the blocks back to the heap before memory grows, so cached blocks never cost reserved
 * bytes. Counters are the owner's; they are added to the device's whenever the owner is on a slow path,
 * or the lock is taken from it.
 */
#ifndef XS_CACHE_CACHE_H
#define XS_CACHE_CACHE_H

#include "base/base.h"
#include "base/biased_lock.h"
#include "cache/cache_counts.h"
#include "cache/cache_key.h"
#include "cache/cache_stream.h"
#include "cache/cached_list.h"
#include "heap/block.h"
#include "policy/size_class.h"
#include "stats/history.h"

#define XS_CACHE_BINS    1024
#define XS_CACHE_STREAMS 8
#define XS_CACHE_PASSING 32 /* blocks in a bin of a thread that frees, and does not allocate */

struct xs_cache_bin {
    uint64_t key;
    struct xs_block *head;
    uint16_t count;
    uint16_t limit; /* of count */
    bool listed;    /* among the filled bins */
    bool asked;     /* the owner has missed a block of a key whose first choice is this bin */
};

/* What all caches of a device share; written rarely. */
struct xs_cache_shared {
    _Atomic uint64_t generation;   /* moves on when the policy or a stream changes */
    const _Atomic uint64_t *epoch; /* of the device's fences: the stamp of frees */
    _Atomic bool many;             /* more than one thread has a cache */
};

/* One thread's peak of live memory is exact by its own counts. Among several, whoever rises by so many bytes
 * looks at what all have. */
#define XS_CACHE_STEP ((int64_t)XS_MIB)

struct xs_cache {
    struct xs_biased_lock lock;
    const struct xs_cache_shared *shared;
    void *device; /* for those above */
    /* The owner's alone. */
    uint64_t hit_generation; /* the generation, or none if a hit needs more than a look */
    uint64_t generation;     /* of the policy and the streams */
    size_t bytes_limit;
    size_t keep_limit; /* blocks up to this stay when the others are given back for a better fit */
    uint16_t bin_limit;
    bool enabled;
    struct xs_ring *ring;    /* where hits are recorded; NULL: nowhere */
    struct xs_origin origin; /* of what is allocated */
    struct xs_cache_stream stream[XS_CACHE_STREAMS];
    /* Under lock. */
    struct xs_cache_counts counts;
    _Atomic int64_t look_above;         /* allocated bytes from which all threads' are looked at */
    _Atomic int64_t follow_below;       /* fallen below it, look_above follows */
    uint32_t filled;                    /* of the following */
    uint16_t filled_bin[XS_CACHE_BINS]; /* bins that have got a block since the cache was emptied */
    struct xs_cache_bin bin[XS_CACHE_BINS];
    /* The owner's: off the hot lines. */
    struct xs_policy policy;
    /* Guarded by the device's CACHES and HEAP locks: either to read, both to write. */
    struct xs_list link;
    struct xs_cache **slot; /* where the owner finds it */
};

static inline struct xs_cache_stream *xs_cache_stream_slot(struct xs_cache *c, xs_cu_stream handle)
{
    return &c->stream[((uintptr_t)handle >> 4 ^ (uintptr_t)handle) % XS_CACHE_STREAMS];
}

static inline unsigned xs_cache_slot(uint64_t key)
{
    return (unsigned)(key * 0x9E3779B97F4A7C15u >> 54); /* 10 bits: XS_CACHE_BINS */
}

/* Either of two neighbouring bins may hold the key; NULL: neither does. */
static inline struct xs_cache_bin *xs_cache_bin_of(struct xs_cache *c, uint64_t key)
{
    unsigned slot = xs_cache_slot(key);
    if (xs_likely(c->bin[slot].key == key))
        return &c->bin[slot];
    return c->bin[slot ^ 1].key == key ? &c->bin[slot ^ 1] : NULL;
}

static inline bool xs_cache_is_current(const struct xs_cache *c)
{
    return c->generation == atomic_load_explicit(&c->shared->generation, memory_order_acquire);
}

/* The same, and the cache is in use, and requests are rounded plainly: what a hit needs. */
static inline bool xs_cache_is_ready(const struct xs_cache *c)
{
    return c->hit_generation == atomic_load_explicit(&c->shared->generation, memory_order_acquire);
}

/* Bytes of the blocks in the bins. Under the lock. */
size_t xs_cache_bytes(const struct xs_cache *c);

/* In the owner's ring. Under the lock, or under HEAP. */
void xs_cache_record(struct xs_cache *c, enum xs_event_kind kind, const struct xs_block *block);

/* The owner books an allocation or a free that did not go through its bins. */
void xs_cache_book_alloc(struct xs_cache *c, size_t requested, size_t bytes);
void xs_cache_book_free(struct xs_cache *c, size_t requested, size_t bytes);

/* NULL: no host memory. */
struct xs_cache *xs_cache_new(const struct xs_cache_shared *shared, void *device);
void xs_cache_delete(struct xs_cache *c);

/* The owner's copy of the policy; forgets what handles stand for. Under no lock but the caller's HEAP. */
void xs_cache_refresh(struct xs_cache *c, const struct xs_policy *policy, bool enabled);

/* Makes room for a key: an empty bin, or the emptier of the two, whose blocks go to `out`. The owner. */
void xs_cache_make_bin(struct xs_cache *c, uint64_t key, struct xs_cached_list *out);
/* The owner allocates of the key too: its bin keeps all that the policy allows, not the few of one that frees. */
void xs_cache_expect_more(struct xs_cache *c, uint64_t key);
static inline void xs_cache_expect(struct xs_cache *c, uint64_t key)
{
    if (xs_unlikely(!c->bin[xs_cache_slot(key)].asked))
        xs_cache_expect_more(c, key);
}
/* Takes half a bin's blocks if it is full. The owner. */
void xs_cache_take_half(struct xs_cache *c, uint64_t key, struct xs_cached_list *out);
/* Puts blocks of one key into its bin, which exists and is empty; what is above bytes_limit goes to `out`. The owner. */
void xs_cache_fill(struct xs_cache *c, uint64_t key, struct xs_cached_list *blocks,
                   struct xs_cached_list *out);
/* Takes all blocks above keep_limit. The owner. */
void xs_cache_take_large(struct xs_cache *c, struct xs_cached_list *out);
/* Takes all blocks, and the counters. Any thread but the owner, or the owner with `own`. */
void xs_cache_take_all(struct xs_cache *c, bool own, struct xs_cached_list *out,
                       struct xs_cache_counts *counts);
/* Takes the counters only. Under the lock. */
void xs_cache_take_counts(struct xs_cache *c, struct xs_cache_counts *counts);

#endif
