#include "base/meta.h"

#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#define CHUNK_BYTES (64 * XS_KIB)

static _Atomic size_t mapped_bytes;

static size_t page_round(size_t bytes)
{
    return xs_round_up(bytes, 4096);
}

void *xs_meta_map_sparse(size_t bytes)
{
    void *p = mmap(NULL, page_round(bytes), PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return p == MAP_FAILED ? NULL : p;
}

void xs_meta_unmap_sparse(void *p, size_t bytes)
{
    munmap(p, page_round(bytes));
}

void xs_meta_count(int64_t bytes)
{
    atomic_fetch_add_explicit(&mapped_bytes, (size_t)bytes, memory_order_relaxed);
}

void *xs_meta_map(size_t bytes)
{
    void *p = xs_meta_map_sparse(bytes);
    if (p)
        xs_meta_count((int64_t)page_round(bytes));
    return p;
}

void xs_meta_unmap(void *p, size_t bytes)
{
    xs_meta_unmap_sparse(p, bytes);
    xs_meta_count(-(int64_t)page_round(bytes));
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

/* The first record's place in a chunk holds the chunk's link. */
static bool add_chunk(struct xs_slab *slab)
{
    void *chunk = xs_meta_map(CHUNK_BYTES);
    if (!chunk)
        return false;
    *(void **)chunk = slab->chunks;
    slab->chunks = chunk;
    slab->unused_in_chunk = CHUNK_BYTES / slab->record_bytes - 1;
    return true;
}

static void *carve(struct xs_slab *slab)
{
    if (!slab->unused_in_chunk && !add_chunk(slab))
        return NULL;
    size_t index = CHUNK_BYTES / slab->record_bytes - slab->unused_in_chunk--;
    return (char *)slab->chunks + index * slab->record_bytes;
}

void *xs_slab_get(struct xs_slab *slab)
{
    void *record = slab->free;
    if (record) {
        slab->free = *link_of(slab, record);
        slab->free_count--;
    } else {
        record = carve(slab);
    }
    if (!record)
        return NULL;
    slab->live++;
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
        void *chunk = slab->chunks;
        slab->chunks = *(void **)chunk;
        xs_meta_unmap(chunk, CHUNK_BYTES);
    }
    xs_slab_init_keeping(slab, slab->record_bytes, slab->kept_bytes);
}
