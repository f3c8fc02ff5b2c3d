/* A device's block caches: one for each thread that uses it, and the depot between them. */
#ifndef XS_CORE_CACHES_H
#define XS_CORE_CACHES_H

#include "base/thread.h"
#include "cache/cache.h"
#include "core/device.h"

/* The calling thread's cache of the device if it has one. */
static inline struct xs_cache *xs_caches_own(const struct xs_device *dev)
{
    const struct xs_thread *t = xs_thread_current;
    return t ? t->cache[dev->caps.ordinal] : NULL;
}

/* The same, made if need be; NULL: no host memory. Follows the device's policy from here on. */
struct xs_cache *xs_caches_make_current(struct xs_device *dev);
static inline struct xs_cache *xs_caches_current(struct xs_device *dev)
{
    struct xs_cache *c = xs_caches_own(dev);
    return xs_likely(c && xs_cache_is_current(c)) ? c : xs_caches_make_current(dev);
}

/* The record of a stream; every way to one goes through here. Under HEAP. Errors as xs_streams_get(). */
enum xseg_result xs_caches_get_stream(struct xs_device *dev, const struct xs_stream_key *key,
                                      struct xs_stream **stream);
/* The same of a handle, with HEAP taken, which is held on success and not on an error. Errors too as
 * xs_stream_identify(). */
enum xseg_result xs_caches_lock_stream(struct xs_device *dev, xs_cu_stream handle,
                                       struct xs_stream **stream);
/* The stream that a handle stands for, if it was looked at in this very call and is known; else NULL. Under
 * HEAP. */
static inline struct xs_stream *xs_caches_known_stream(const struct xs_device *dev,
                                                       struct xs_cache *c, xs_cu_stream handle)
{
    xs_assert_held(&dev->lock);
    const struct xs_cache_stream *known = xs_cache_stream_slot(c, handle);
    return xs_cache_is_current(c) && known->handle == handle ? known->stream : NULL;
}
/* Remembers what a handle stands for. Under HEAP. */
void xs_caches_know_stream(struct xs_device *dev, struct xs_cache *c, xs_cu_stream handle,
                           struct xs_stream *stream);
/* The caller begins or ends to vouch for a stream's handle. Errors: HOST_MEMORY, DRIVER, NOT_SUPPORTED. */
enum xseg_result xs_caches_trust_stream(struct xs_device *dev, xs_cu_stream handle, bool trusted);
/* The calling thread forgets what it knows. */
void xs_caches_forget_own_streams(struct xs_cache *c);
/* Every thread does, at its next call. */
void xs_caches_forget_streams(struct xs_device *dev);

/* CACHED blocks go back to their heap. Under HEAP, or taking it. */
void xs_caches_return_locked(struct xs_device *dev, struct xs_cached_list *blocks);
void xs_caches_return(struct xs_device *dev, struct xs_cached_list *blocks);

/* Room in the calling thread's cache for a block of this key, if need be at other blocks' cost. */
void xs_caches_make_room(struct xs_device *dev, struct xs_cache *c, uint64_t key);
/* Blocks of the key from the depot into the cache; false: there are none. Under HEAP. */
bool xs_caches_restock(struct xs_device *dev, struct xs_cache *c, uint64_t key);
/* The calling thread's larger blocks go back. Under HEAP. */
void xs_caches_return_large(struct xs_device *dev, struct xs_cache *c);

/* All threads' caches and the depot are emptied. Returns whether there was anything. */
bool xs_caches_flush(struct xs_device *dev);

/* Empties and ends the caches of a thread that ends. No device may be closed meanwhile. */
void xs_caches_thread_exit(struct xs_thread *t);
/* The device goes: ends its caches; their threads make new ones. */
void xs_caches_end(struct xs_device *dev);

#endif
