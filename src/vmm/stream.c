#include "vmm/stream.h"

#include <string.h>

#include "base/error.h"
#include "base/thread.h"
#include "driver/driver.h"

enum xseg_result xs_stream_identify(xs_cu_stream handle, struct xs_stream_key *key)
{
    if (handle == XS_CU_STREAM_LEGACY)
        handle = NULL;
    key->handle = handle;
    key->id = 0;
    if (handle == NULL || xs_stream_is_none(handle))
        return XSEG_OK;
    if (handle == XS_CU_STREAM_PER_THREAD) {
        struct xs_thread *t = xs_thread_self();
        key->id = t ? t->id : 0;
        return t ? XSEG_OK
                 : xs_fail(XSEG_ERROR_HOST_MEMORY, "no host memory for a thread's record");
    }
    if (!xs_driver_has(XS_CALL_stream_get_id)) { /* drivers before 12.0: the value has to do */
        key->id = (uintptr_t)handle;
        return XSEG_OK;
    }
    int capture;
    unsigned long long id = XS_DRIVER_CAPTURING;
    xs_cu_result code = xs_cu_stream_is_capturing(handle, &capture);
    if (!code && capture == XS_CU_CAPTURE_STATUS_NONE)
        code = xs_cu_stream_get_id(handle, &id);
    key->id = id;
    return xs_driver_result(code);
}

#define FIRST_GATHERING 256

void xs_streams_init(struct xs_streams *streams)
{
    memset(streams, 0, sizeof(*streams));
    xs_slab_init(&streams->slab, sizeof(struct xs_stream));
    streams->gather_at = FIRST_GATHERING;
}

void xs_streams_destroy(struct xs_streams *streams)
{
    xs_slab_destroy(&streams->slab);
    xs_streams_init(streams);
}

static bool is_special(xs_cu_stream handle)
{
    return handle == NULL || handle == XS_CU_STREAM_PER_THREAD || xs_stream_is_none(handle);
}

/* A created stream is its id alone, since the handle's value may come back with another; but while it captures
 * the value is all there is. */
static bool goes_by_handle(const struct xs_stream_key *key)
{
    return is_special(key->handle) || key->id == XS_DRIVER_CAPTURING;
}

bool xs_stream_is_trusted(const struct xs_stream *stream)
{
    return stream->trusted || is_special(stream->key.handle);
}

static bool same_stream(const struct xs_stream_key *a, const struct xs_stream_key *b)
{
    if (a->id != b->id || goes_by_handle(a) != goes_by_handle(b))
        return false;
    return !goes_by_handle(a) || a->handle == b->handle;
}

static struct xs_stream *find(const struct xs_streams *streams, const struct xs_stream_key *key)
{
    struct xs_stream *s = streams->bucket[key->id % XS_STREAM_BUCKETS];
    while (s && !same_stream(&s->key, key))
        s = s->next;
    return s;
}

/* The record of a stream whose handle the caller vouches for: it need not be asked for its id. */
static struct xs_stream *find_trusted(const struct xs_streams *streams, xs_cu_stream handle)
{
    for (unsigned i = 0; i < XS_STREAM_BUCKETS; i++)
        for (struct xs_stream *s = streams->bucket[i]; s; s = s->next)
            if (s->trusted && s->key.handle == handle)
                return s;
    return NULL;
}

static uint32_t gather_bucket(struct xs_streams *streams, struct xs_stream **link, bool trusted)
{
    uint32_t n = 0;
    while (*link) {
        struct xs_stream *s = *link;
        if (s->refs || (s->trusted && !trusted)) {
            link = &s->next;
            continue;
        }
        *link = s->next;
        xs_streams_mark_capturing(streams, s, false);
        s->next = streams->spare;
        streams->spare = s;
        n++;
    }
    return n;
}

/* Where that brings in little, most streams are in use, and it is not tried again before there are twice as many. What
 * is vouched for goes last: its handle is asked like any other then. */
static void gather(struct xs_streams *streams)
{
    bool trusted = streams->count + 1 >= XS_STREAM_INDEX_LIMIT;
    uint32_t n = 0;
    for (unsigned i = 0; i < XS_STREAM_BUCKETS; i++)
        n += gather_bucket(streams, &streams->bucket[i], trusted);
    streams->gathered += n > 0;
    if (n < streams->gather_at / 2)
        streams->gather_at = xs_min(2 * streams->gather_at, XS_STREAM_INDEX_LIMIT);
}

static enum xseg_result new_stream(struct xs_streams *streams, struct xs_stream **out)
{
    if (!streams->spare && streams->count + 1 >= streams->gather_at)
        gather(streams);
    *out = streams->spare;
    if (*out) {
        streams->spare = (*out)->next;
        return XSEG_OK;
    }
    if (streams->count + 1 >= XS_STREAM_INDEX_LIMIT)
        return xs_fail(XSEG_ERROR_NOT_SUPPORTED, "more than %d streams hold memory of one device",
                       XS_STREAM_INDEX_LIMIT - 1);
    *out = xs_slab_get(&streams->slab);
    if (!*out)
        return xs_fail(XSEG_ERROR_HOST_MEMORY, "no host memory for a stream's record");
    (*out)->index = ++streams->count;
    return XSEG_OK;
}

enum xseg_result xs_streams_get(struct xs_streams *streams, const struct xs_stream_key *key,
                                struct xs_stream **out)
{
    *out = key->id == XS_DRIVER_CAPTURING ? find_trusted(streams, key->handle) : NULL;
    if (!*out)
        *out = find(streams, key);
    if (*out)
        return XSEG_OK;
    enum xseg_result e = new_stream(streams, out);
    if (e)
        return e;
    struct xs_stream **bucket = &streams->bucket[key->id % XS_STREAM_BUCKETS];
    struct xs_stream *s = *out;
    s->key = *key;
    s->last_stamp = 0;
    s->trusted = false;
    s->next = *bucket;
    *bucket = s;
    return XSEG_OK;
}

size_t xs_streams_alive_and_open(const struct xs_streams *streams, struct xs_stream **out,
                                 size_t max)
{
    size_t n = 0;
    for (unsigned i = 0; i < XS_STREAM_BUCKETS; i++)
        for (struct xs_stream *s = streams->bucket[i]; s && n < max; s = s->next)
            if ((s->trusted || !s->key.handle) && s->last_stamp > atomic_load(&s->passed))
                out[n++] = s;
    return n;
}

static void mark(struct xs_streams *streams, struct xs_stream *stream, bool capturing)
{
    if (stream->capturing == capturing)
        return;
    stream->capturing = capturing;
    streams->capturing += capturing ? 1 : UINT32_MAX;
}

/* A stream that does not capture had another record while it did. */
void xs_streams_mark_capturing(struct xs_streams *streams, struct xs_stream *stream, bool capturing)
{
    mark(streams, stream, capturing);
    if (capturing || !streams->capturing)
        return;
    const struct xs_stream_key key = {stream->key.handle, XS_DRIVER_CAPTURING};
    struct xs_stream *then = find(streams, &key);
    if (then)
        mark(streams, then, false);
}

void xs_streams_forget_captures(struct xs_streams *streams)
{
    for (unsigned i = 0; i < XS_STREAM_BUCKETS && streams->capturing; i++)
        for (struct xs_stream *s = streams->bucket[i]; s; s = s->next)
            mark(streams, s, false);
}
