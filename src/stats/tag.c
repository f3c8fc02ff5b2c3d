#include "stats/tag.h"

#include <stdatomic.h>
#include <string.h>

#include "base/lock.h"
#include "base/meta.h"

#define BUCKETS 4096

struct tag {
    uint32_t parent;
    uint32_t next; /* in its bucket */
    uint32_t hash;
    char name[XS_TAG_NAME_BYTES];
};

/* What a thread has pushed: the tags that it goes back to. */
struct pushed {
    uint32_t depth; /* may be more than is kept */
    uint32_t tag[XS_TAG_DEPTH];
};

static struct {
    struct xs_lock lock;
    _Atomic uint32_t count; /* tags 1 to count - 1 are there */
    struct tag *tag;        /* never moves; pages come when touched */
    uint32_t bucket[BUCKETS];
} tags = {.lock = XS_LOCK_INITIALIZER(XS_RANK_TAGS)};

static uint32_t hash_of(uint32_t parent, const char *name)
{
    uint32_t hash = 2166136261u ^ parent * 16777619u;
    for (; *name; name++)
        hash = (hash ^ (unsigned char)*name) * 16777619u;
    return hash;
}

static bool make_table(void)
{
    if (!tags.tag) {
        tags.tag = xs_meta_map_sparse(XS_TAG_LIMIT * sizeof(struct tag));
        atomic_store(&tags.count, 1);
    }
    return tags.tag != NULL;
}

/* The child of that name, made if need be; the parent itself where there are too many. Under the lock. */
static uint32_t child(uint32_t parent, const char *name)
{
    uint32_t hash = hash_of(parent, name), *bucket = &tags.bucket[hash % BUCKETS];
    for (uint32_t i = *bucket; i; i = tags.tag[i].next)
        if (tags.tag[i].hash == hash && tags.tag[i].parent == parent &&
            strcmp(tags.tag[i].name, name) == 0)
            return i;
    uint32_t count = atomic_load(&tags.count);
    if (count == XS_TAG_LIMIT)
        return parent;
    struct tag *tag = &tags.tag[count];
    xs_meta_use(tag, sizeof(*tag));
    *tag = (struct tag){.parent = parent, .next = *bucket, .hash = hash};
    strcpy(tag->name, name);
    *bucket = count;
    atomic_store(&tags.count, count + 1);
    return count;
}

enum xseg_result xs_tag_push(const char *name)
{
    struct xs_thread *t = xs_thread_self();
    struct pushed *p = t ? xs_thread_slot(t, XS_THREAD_SLOT_TAGS, sizeof(*p)) : NULL;
    char text[XS_TAG_NAME_BYTES];
    size_t length = strnlen(name, sizeof(text) - 1);
    memcpy(text, name, length);
    text[length] = '\0';
    xs_lock_acquire(&tags.lock);
    bool ok = p && make_table();
    uint32_t tag = !ok ? 0 : p->depth < XS_TAG_DEPTH ? child(t->tag, text) : t->tag;
    xs_lock_release(&tags.lock);
    if (!ok)
        return xs_fail(XSEG_ERROR_HOST_MEMORY, "no host memory for tags");
    if (p->depth < XS_TAG_DEPTH)
        p->tag[p->depth] = t->tag;
    p->depth++;
    t->tag = tag;
    return XSEG_OK;
}

enum xseg_result xs_tag_pop(void)
{
    struct xs_thread *t = xs_thread_current;
    struct pushed *p = t ? t->slot[XS_THREAD_SLOT_TAGS].data : NULL;
    if (!p || !p->depth)
        return xs_fail(XSEG_ERROR_INVALID_VALUE, "xseg_tag_pop: no tag has been pushed");
    p->depth--;
    if (p->depth < XS_TAG_DEPTH)
        t->tag = p->tag[p->depth];
    return XSEG_OK;
}

uint32_t xs_tag_count(void)
{
    return atomic_load(&tags.count);
}

/* From the end, so that the innermost names are the ones that stay. A tag never changes once it is counted. */
const char *xs_tag_path(uint32_t number, char out[XS_TAG_PATH_BYTES])
{
    char *at = out + XS_TAG_PATH_BYTES - 1;
    *at = '\0';
    for (uint32_t i = number < xs_tag_count() ? number : 0; i; i = tags.tag[i].parent) {
        size_t length = strlen(tags.tag[i].name), dot = *at != '\0';
        if ((size_t)(at - out) < length + dot)
            break;
        if (dot)
            *--at = '.';
        at -= length;
        memcpy(at, tags.tag[i].name, length);
    }
    memmove(out, at, strlen(at) + 1);
    return out;
}
