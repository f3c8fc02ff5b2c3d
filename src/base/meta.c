#include "base/meta.h"

#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#define PAGE_BYTES ((size_t)4096)
/* Chunks of a slab double from the first to the largest. */
#define FIRST_CHUNK   (4 * XS_KIB)
#define LARGEST_CHUNK (64 * XS_KIB)
#define LEAST_RECORDS 4 /* that a chunk has room for, however large they are */

/* At the start of a chunk, in the first record's place. */
struct chunk {
    struct chunk *next;
    size_t bytes;
};

static _Atomic size_t mapped_bytes;

static size_t page_round(size_t bytes)
{
    return xs_round_up(bytes, PAGE_BYTES);
}

static void *map(size_t bytes, int flags)
{
    void *p = mmap(NULL, page_round(bytes), PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
    return p == MAP_FAILED ? NULL : p;
}

void *xs_meta_map_sparse(size_t bytes)
{
    return map(bytes, MAP_NORESERVE);
}

static void count(int64_t bytes)
{
    atomic_fetch_add_explicit(&mapped_bytes, (size_t)bytes, memory_order_relaxed);
}

void xs_meta_unmap_sparse(void *p, size_t bytes, size_t used_bytes)
{
    munmap(p, page_round(bytes));
    count(-(int64_t)used_bytes);
}

/* An older kernel refuses the advice; the pages then come as they are touched. */
void xs_meta_use(void *p, size_t bytes)
{
    uintptr_t begin = xs_round_down((uintptr_t)p, PAGE_BYTES), end = (uintptr_t)p + bytes;
    madvise((void *)begin, end - begin, MADV_POPULATE_WRITE);
    count((int64_t)bytes);
}

void *xs_meta_map(size_t bytes)
{
    void *p = map(bytes, MAP_POPULATE);
    if (p)
        count((int64_t)page_round(bytes));
    return p;
}

void xs_meta_unmap(void *p, size_t bytes)
{
    xs_meta_unmap_sparse(p, bytes, page_round(bytes));
}

size_t xs_meta_bytes(void)
{
    return atomic_load_explicit(&mapped_bytes, memory_order_relaxed);
}

void xs_slab_init(struct xs_slab *slab, size_t record_bytes)
{
    memset(slab, 0, sizeof(*slab));
    slab->record_bytes = xs_round_up(record_bytes, 16);
}

void xs_slab_init_keeping(struct xs_slab *slab, size_t record_bytes, size_t kept_bytes)
{
    xs_slab_init(slab, record_bytes);
    slab->kept_bytes = kept_bytes;
}

static void **link_of(const struct xs_slab *slab, void *record)
{
    return (void **)((char *)record + slab->kept_bytes);
}

static bool add_chunk(struct xs_slab *slab, size_t bytes)
{
    struct chunk *chunk = xs_meta_map(bytes);
    if (!chunk)
        return false;
    *chunk = (struct chunk){.next = slab->chunks, .bytes = bytes};
    slab->chunks = chunk;
    slab->unused_in_chunk = bytes / slab->record_bytes - 1;
    return true;
}

static void *carve(struct xs_slab *slab)
{
    struct chunk *last = slab->chunks;
    size_t more = last ? xs_min(2 * last->bytes, LARGEST_CHUNK) : FIRST_CHUNK;
    more = xs_max(more, page_round(LEAST_RECORDS * slab->record_bytes));
    if (!slab->unused_in_chunk && !add_chunk(slab, more))
        return NULL;
    last = slab->chunks;
    size_t index = last->bytes / slab->record_bytes - slab->unused_in_chunk--;
    return (char *)last + index * slab->record_bytes;
}

void *xs_slab_get_unset(struct xs_slab *slab)
{
    void *record = slab->free;
    if (xs_likely(record != NULL)) {
        slab->free = *link_of(slab, record);
        slab->free_count--;
    } else if (!(record = carve(slab))) {
        return NULL;
    }
    slab->live++;
    return record;
}

void *xs_slab_get(struct xs_slab *slab)
{
    void *record = xs_slab_get_unset(slab);
    if (record)
        memset(link_of(slab, record), 0, slab->record_bytes - slab->kept_bytes);
    return record;
}

static void push(struct xs_slab *slab, void *record)
{
    *link_of(slab, record) = slab->free;
    slab->free = record;
    slab->free_count++;
}

void xs_slab_put(struct xs_slab *slab, void *record)
{
    push(slab, record);
    slab->live--;
}

bool xs_slab_reserve(struct xs_slab *slab, size_t count)
{
    while (xs_unlikely(slab->free_count < count)) {
        void *record = carve(slab);
        if (!record)
            return false;
        push(slab, record);
    }
    return true;
}

void xs_slab_destroy(struct xs_slab *slab)
{
    while (slab->chunks) {
        struct chunk *chunk = slab->chunks;
        slab->chunks = chunk->next;
        xs_meta_unmap(chunk, chunk->bytes);
    }
    xs_slab_init_keeping(slab, slab->record_bytes, slab->kept_bytes);
}
