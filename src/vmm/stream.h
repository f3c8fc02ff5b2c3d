/*
 * Who a stream is. A handle's value is no identity: a destroyed stream's value comes back for the next
 * one. Identity is the driver's unique id; for the two default streams their value, and for the
 * per-thread one the thread too. A capturing stream must not be asked for its id: unless the caller vouches for it,
 * it has a record of its own, by value, for as long as it captures.
 *
 * Nobody says when a stream goes. So from time to time the records that no block refers to are gathered, to be taken
 * again for other streams, and those that the caller vouches for only once the indexes run out: a program that makes a stream for each task needs a few
 * hundred of them. The `passed` of a record stays, which is harmless since epochs only grow.
 *
 * Not thread-safe: the device's HEAP lock is held, but for `passed`.
 */
#ifndef XS_VMM_STREAM_H
#define XS_VMM_STREAM_H

#include <stdatomic.h>

#include "base/base.h"
#include "base/meta.h"
#include "driver/cuda_abi.h"

/* Indexes are dense, from 1; 0 stands for "no stream": idle. */
#define XS_STREAM_INDEX_LIMIT 4096
#define XS_STREAM_BUCKETS     256

/*
 * Two streams that are none, for memory that no single stream orders. ANY asks for memory that work on every
 * stream may use at once, so only idle memory serves it. ALL frees in the order of all streams together: what
 * is freed on it becomes idle once a context-wide fence has passed. Nothing is ever asked for ALL or freed on ANY.
 * (The highest value of all stands for an unused entry of a thread's cache.)
 */
#define XS_STREAM_ANY ((xs_cu_stream) ~(uintptr_t)1)
#define XS_STREAM_ALL ((xs_cu_stream) ~(uintptr_t)2)

/* What a handle is, found out before any lock is taken. */
struct xs_stream_key {
    xs_cu_stream handle; /* NULL and the special values as they are */
    uint64_t id;         /* driver's id, thread id, XS_DRIVER_CAPTURING, or 0 */
};

struct xs_stream {
    struct xs_stream *next; /* in its bucket */
    struct xs_stream_key key;
    uint32_t index;
    _Atomic uint64_t passed;     /* everything stamped up to this is done; see fence.h */
    _Atomic uint64_t last_stamp; /* latest stamp given to memory freed on it */
    bool trusted;                /* the caller vouches for the handle until it says otherwise */
    bool capturing; /* it was when it was last passed, and has not been seen otherwise since */
    size_t refs;    /* blocks that name it: live ones, and free ones with a stamp */
};

struct xs_streams {
    struct xs_slab slab;
    struct xs_stream *bucket[XS_STREAM_BUCKETS];
    struct xs_stream *spare; /* gathered, and in no bucket */
    uint32_t count;          /* of records, the spare ones too */
    uint32_t gather_at;      /* from so many on */
    uint32_t capturing;      /* how many are marked so */
    uint64_t gathered;       /* how often records were: who remembers one has to look anew */
};

static inline bool xs_stream_is_none(xs_cu_stream handle)
{
    return handle == XS_STREAM_ANY || handle == XS_STREAM_ALL;
}

/* Asks the driver who `handle` is; it must be alive. Two quick calls for created streams, else none. */
enum xseg_result xs_stream_identify(xs_cu_stream handle, struct xs_stream_key *key);

void xs_streams_init(struct xs_streams *streams);
void xs_streams_destroy(struct xs_streams *streams);
void xs_streams_mark_capturing(struct xs_streams *streams, struct xs_stream *stream,
                               bool capturing);
/* No stream captures any more. */
void xs_streams_forget_captures(struct xs_streams *streams);
/* Whether a handle cannot come to mean another stream: the special ones, and trusted ones. */
bool xs_stream_is_trusted(const struct xs_stream *stream);
/* Up to `max` streams whose handles are sure to be alive, being the legacy stream or vouched for, and that have
 * freed something which is not known to have passed. Returns how many. */
size_t xs_streams_alive_and_open(const struct xs_streams *streams, struct xs_stream **out,
                                 size_t max);
/* Finds or adds. Errors: HOST_MEMORY, NOT_SUPPORTED (too many streams). */
enum xseg_result xs_streams_get(struct xs_streams *streams, const struct xs_stream_key *key,
                                struct xs_stream **out);

#endif
