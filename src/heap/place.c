#include "heap/place.h"

/* What a search needs to know of the request. */
struct request {
    const struct xs_fences *fences;
    const struct xs_stream *stream;
    size_t bytes;
    size_t align;
    bool holes_only; /* blocks of the heap are not cut or joined */
};

static bool is_usable(const struct request *request, const struct xs_block *block)
{
    if (!block)
        return false;
    if (xs_block_state_of(block) == XS_BLOCK_HOLE)
        return true;
    return xs_block_state_of(block) == XS_BLOCK_FREE && !request->holes_only &&
           (block->stream == request->stream || xs_block_has_passed(block, request->fences));
}

static size_t granules_in(const struct xs_block *block, size_t bytes)
{
    return xs_block_state_of(block) == XS_BLOCK_HOLE ? xs_round_up(bytes, block->segment->granule)
                                                     : 0;
}

static void consider(struct xs_place *best, struct xs_block *first, xs_cu_ptr va, size_t new_bytes)
{
    if (best->first &&
        (new_bytes > best->new_bytes || (new_bytes == best->new_bytes && va >= best->va)))
        return;
    *best = (struct xs_place){first, va, new_bytes};
}

/* The window that begins where `first` begins, or at the next aligned place in it. Gives up once it costs
 * more than the best. */
static void try_from(const struct request *request, struct xs_block *first, struct xs_place *best)
{
    size_t pad = -xs_block_va(first) & (request->align - 1);
    size_t covered = 0, new_bytes = 0, bytes = request->bytes + pad;
    if (pad >= xs_block_bytes(first))
        return;
    for (struct xs_block *b = first; is_usable(request, b); b = xs_block_next(b)) {
        size_t part = xs_min(bytes - covered, xs_block_bytes(b));
        new_bytes += granules_in(b, part);
        covered += part;
        if (best->first && new_bytes > best->new_bytes)
            return;
        if (covered == bytes) {
            consider(best, first, xs_block_va(first) + pad, new_bytes);
            return;
        }
    }
}

/* The window that ends where `last` ends, or as little before it as lets it begin aligned; the size is a
 * multiple of the alignment. */
static void try_up_to(const struct request *request, struct xs_block *last, struct xs_place *best)
{
    size_t pad = xs_block_end(last) & (request->align - 1);
    size_t covered = 0, new_bytes = 0, bytes = request->bytes + pad;
    if (pad >= xs_block_bytes(last))
        return;
    for (struct xs_block *b = last; is_usable(request, b); b = xs_block_prev(b)) {
        size_t part = xs_min(bytes - covered, xs_block_bytes(b));
        new_bytes += granules_in(b, part);
        covered += part;
        if (best->first && new_bytes > best->new_bytes)
            return;
        if (covered == bytes) {
            consider(best, b, xs_block_end(b) - part, new_bytes);
            return;
        }
    }
}

/* All windows of the run that `hole` lies in, unless an earlier hole of the run brings them. */
static void try_run(const struct request *request, struct xs_block *hole, struct xs_place *best)
{
    struct xs_block *begin = hole, *b;
    while (is_usable(request, b = xs_block_prev(begin))) {
        if (xs_block_state_of(b) == XS_BLOCK_HOLE)
            return;
        begin = b;
    }
    for (b = begin; is_usable(request, b); b = xs_block_next(b)) {
        try_from(request, b, best);
        try_up_to(request, b, best);
    }
}

bool xs_place_find(const struct xs_heap *heap, const struct xs_fences *fences, size_t bytes,
                   size_t align, const struct xs_stream *stream, struct xs_place *place)
{
    struct request request = {fences, stream, bytes, align, heap->whole};
    place->first = NULL;
    XS_LIST_FOR_EACH(link, &heap->holes)
        try_run(&request, xs_block_of_link(link), place);
    return place->first != NULL;
}

bool xs_place_find_at_tail(const struct xs_heap *heap, const struct xs_fences *fences, size_t bytes,
                           size_t align, const struct xs_stream *stream, struct xs_place *place)
{
    struct request request = {fences, stream, bytes, align, heap->whole};
    place->first = NULL;
    XS_LIST_FOR_EACH(link, &heap->segments) {
        const struct xs_segment *segment = XS_CONTAINER_OF(link, const struct xs_segment, link);
        struct xs_block *tail = xs_block_of_place(segment->blocks.prev);
        if (xs_block_state_of(tail) != XS_BLOCK_HOLE)
            continue;
        struct xs_block *before = xs_block_prev(tail);
        if (is_usable(&request, before) && xs_block_bytes(before) < bytes)
            try_from(&request, before, place);
        try_from(&request, tail, place);
    }
    return place->first != NULL;
}
