#include "sim/sim_memory.h"

#include <stdlib.h>
#include <string.h>

#include "sim/sim_capture.h"
#include "sim/sim_extent.h"
#include "sim/sim_state.h"
#include "sim/sim_stream.h"

#define UNIT_BYTES 512

struct backing {         /* physical memory under one large block, or under many small ones */
    struct xs_list link; /* xs_sim.backings, while shared */
    struct xs_sim_reservation *reservation;
    struct xs_sim_extent *extent;
    size_t blocks;
    size_t room;            /* shared: no run of free units is longer than this */
    unsigned char *is_used; /* one byte a unit; NULL for a large block */
};

struct block { /* owner in xs_sim.blocks, whose range is what was asked for */
    struct backing *backing;
    struct xs_sim_context *ctx;
    bool is_freeing; /* cuMemFreeAsync was called */
};

static xs_cu_result invalid(const char *why)
{
    return xs_sim_misuse(XS_CUDA_ERROR_INVALID_VALUE, "%s", why);
}

static size_t units_of(size_t bytes)
{
    return (bytes + UNIT_BYTES - 1) / UNIT_BYTES;
}

static void backing_free(struct backing *backing)
{
    struct xs_sim_reservation *reservation = backing->reservation;
    if (reservation && reservation->mapped)
        xs_sim_row_unmap(reservation, reservation->va, reservation->bytes);
    if (backing->extent)
        xs_sim_extent_release(backing->extent);
    if (reservation)
        xs_sim_unreserve(reservation);
    xs_list_remove(&backing->link);
    free(backing->is_used);
    free(backing);
}

static xs_cu_result backing_fill(struct backing *backing, int device, size_t bytes)
{
    const size_t granule = xs_sim.config.granule;
    xs_cu_result result = xs_sim_extent_new(device, bytes, &backing->extent);
    if (result != XS_CUDA_SUCCESS)
        return result;
    backing->extent->for_alloc = true;
    backing->reservation = xs_sim_reserve(bytes, granule, 0);
    if (!backing->reservation)
        return XS_CUDA_ERROR_OUT_OF_MEMORY;
    backing->reservation->for_alloc = true;
    const xs_cu_ptr va = backing->reservation->va;
    result = xs_sim_map(backing->reservation, va, backing->extent);
    if (result == XS_CUDA_SUCCESS)
        xs_sim_row_access(backing->reservation, va, bytes, device, XS_CU_ACCESS_READWRITE);
    return result;
}

static xs_cu_result backing_new(int device, size_t bytes, bool is_shared, struct backing **out)
{
    xs_cu_result result = XS_CUDA_ERROR_OUT_OF_MEMORY;
    struct backing *backing = calloc(1, sizeof(*backing));
    if (!backing)
        return result;
    xs_list_init(&backing->link);
    if (is_shared) {
        backing->room = bytes / UNIT_BYTES;
        backing->is_used = calloc(backing->room, 1);
        xs_list_push_back(&xs_sim.backings, &backing->link);
    }
    if (!is_shared || backing->is_used)
        result = backing_fill(backing, device, bytes);
    if (result == XS_CUDA_SUCCESS)
        *out = backing;
    else
        backing_free(backing);
    return result;
}

/* The first run of `n` free units, or -1; then it is known that there is none. */
static long find_units(struct backing *backing, size_t n)
{
    const size_t units = xs_sim.config.granule / UNIT_BYTES;
    size_t run = 0;
    for (size_t i = 0; i < units && n <= backing->room; i++) {
        run = backing->is_used[i] ? 0 : run + 1;
        if (run == n)
            return (long)(i + 1 - n);
    }
    backing->room = xs_min(backing->room, n - 1);
    return -1;
}

static void set_units(struct backing *backing, xs_cu_ptr va, size_t bytes, bool used)
{
    if (!backing->is_used)
        return;
    const size_t first = (va - backing->reservation->va) / UNIT_BYTES;
    memset(backing->is_used + first, used, units_of(bytes));
    if (!used)
        backing->room = xs_sim.config.granule / UNIT_BYTES;
}

static struct backing *find_shared(int device, size_t bytes, xs_cu_ptr *va)
{
    XS_LIST_FOR_EACH(node, &xs_sim.backings) {
        struct backing *backing = (struct backing *)node;
        if (backing->room < units_of(bytes) || backing->extent->device != device)
            continue;
        const long first = find_units(backing, units_of(bytes));
        if (first < 0)
            continue;
        *va = backing->reservation->va + (xs_cu_ptr)first * UNIT_BYTES;
        return backing;
    }
    return NULL;
}

static xs_cu_result find_backing(int device, size_t bytes, struct backing **out, xs_cu_ptr *va)
{
    const size_t granule = xs_sim.config.granule;
    const bool is_shared = bytes <= granule / 2;
    *out = is_shared ? find_shared(device, bytes, va) : NULL;
    if (*out)
        return XS_CUDA_SUCCESS;
    const xs_cu_result result = backing_new(device, xs_round_up(bytes, granule), is_shared, out);
    if (result == XS_CUDA_SUCCESS)
        *va = (*out)->reservation->va;
    return result;
}

static xs_cu_result block_new(struct xs_sim_context *ctx, size_t bytes, xs_cu_ptr *va)
{
    struct backing *backing;
    if (bytes > xs_sim.config.capacity)
        return XS_CUDA_ERROR_OUT_OF_MEMORY;
    const xs_cu_result result = find_backing(ctx->device, bytes, &backing, va);
    if (result != XS_CUDA_SUCCESS)
        return result;
    struct block *block = calloc(1, sizeof(*block));
    if (!block || !xs_sim_ranges_insert(&xs_sim.blocks, *va, bytes, block)) {
        free(block);
        if (backing->blocks == 0)
            backing_free(backing);
        return XS_CUDA_ERROR_OUT_OF_MEMORY;
    }
    block->backing = backing;
    block->ctx = ctx;
    backing->blocks++;
    set_units(backing, *va, bytes, true);
    return XS_CUDA_SUCCESS;
}

void xs_sim_block_free(xs_cu_ptr va)
{
    const struct xs_sim_range *range = xs_sim_ranges_find(&xs_sim.blocks, va);
    struct block *block = range->owner;
    set_units(block->backing, va, range->bytes, false);
    if (--block->backing->blocks == 0)
        backing_free(block->backing);
    xs_sim_ranges_remove(&xs_sim.blocks, va);
    free(block);
}

bool xs_sim_block_holds(xs_cu_ptr va, size_t bytes)
{
    const struct xs_sim_range *range = xs_sim_ranges_find(&xs_sim.blocks, va);
    return range && bytes <= range->va + range->bytes - va;
}

struct xs_sim_context *xs_sim_block_at(xs_cu_ptr va, xs_cu_ptr *base, size_t *bytes)
{
    const struct xs_sim_range *range = xs_sim_ranges_find(&xs_sim.blocks, va);
    if (!range)
        return NULL;
    *base = range->va;
    *bytes = range->bytes;
    return ((struct block *)range->owner)->ctx;
}

void xs_sim_memory_drop_all(const struct xs_sim_context *ctx)
{
    for (size_t i = xs_sim.blocks.count; i-- > 0;)
        if (((struct block *)xs_sim.blocks.at[i].owner)->ctx == ctx)
            xs_sim_block_free(xs_sim.blocks.at[i].va);
}

/* The block that starts at `va` and may be freed; else a violation. */
static xs_cu_result check_free(xs_cu_ptr va, struct block **out)
{
    const struct xs_sim_range *range = xs_sim_ranges_find(&xs_sim.blocks, va);
    if (!range || range->va != va)
        return xs_sim_misuse(XS_CUDA_ERROR_INVALID_VALUE, "0x%llx is no allocation", va);
    *out = range->owner;
    return (*out)->is_freeing ? invalid("freed twice") : XS_CUDA_SUCCESS;
}

xs_cu_result xs_sim_do_cuMemAlloc_v2(xs_cu_ptr *va, size_t bytes)
{
    xs_cu_ptr made;
    if (!va || bytes == 0)
        return invalid("NULL argument or size 0");
    xs_cu_result result = xs_sim_capture_forbids();
    if (result == XS_CUDA_SUCCESS)
        result = block_new(xs_sim_context_current(), bytes, &made);
    if (result != XS_CUDA_SUCCESS)
        return result;
    *va = made;
    xs_sim_ledger_charge(XS_SIM_SYM_cuMemAlloc_v2, bytes);
    return XS_CUDA_SUCCESS;
}

#define PITCH_BYTES ((size_t)512)

xs_cu_result xs_sim_do_cuMemAllocPitch_v2(xs_cu_ptr *va, size_t *pitch, size_t width, size_t height,
                                          unsigned element)
{
    const size_t row = (width + PITCH_BYTES - 1) / PITCH_BYTES * PITCH_BYTES;
    if (!va || !pitch || !width || !height || (element != 4 && element != 8 && element != 16))
        return invalid("NULL argument, size 0, or no element of 4, 8 or 16 bytes");
    if (row < width || row > SIZE_MAX / height)
        return XS_CUDA_ERROR_OUT_OF_MEMORY;
    const xs_cu_result result = xs_sim_do_cuMemAlloc_v2(va, row * height);
    if (result == XS_CUDA_SUCCESS)
        *pitch = row;
    return result;
}

/* Managed memory is device memory here. */
xs_cu_result xs_sim_do_cuMemAllocManaged(xs_cu_ptr *va, size_t bytes, unsigned flags)
{
    if (flags != 1 && flags != 2)
        return invalid("neither global nor host memory");
    return xs_sim_do_cuMemAlloc_v2(va, bytes);
}

/* Waits for everything the context has been given, as the real one does. */
xs_cu_result xs_sim_do_cuMemFree_v2(xs_cu_ptr va)
{
    struct block *block;
    if (va == 0)
        return XS_CUDA_SUCCESS;
    xs_cu_result result = xs_sim_capture_forbids();
    if (result == XS_CUDA_SUCCESS)
        result = check_free(va, &block);
    if (result != XS_CUDA_SUCCESS)
        return result;
    xs_sim_queue_finish(block->ctx);
    result = check_free(va, &block); /* again: waiting may have dropped the lock */
    if (result == XS_CUDA_SUCCESS)
        xs_sim_block_free(va);
    return result;
}

/* Stream-ordered allocations inside a capture would be nodes of the graph: not simulated. */
static xs_cu_result pool_queue(xs_cu_stream stream, struct xs_sim_queue **out)
{
    const xs_cu_result result = xs_sim_stream_queue(stream, out);
    if (result == XS_CUDA_SUCCESS && (*out)->capture)
        return xs_sim_capture_break((*out)->capture, XS_CUDA_ERROR_NOT_SUPPORTED,
                                    "stream-ordered allocation in a capture");
    return result;
}

xs_cu_result xs_sim_do_cuMemAllocAsync(xs_cu_ptr *va, size_t bytes, xs_cu_stream stream)
{
    struct xs_sim_queue *queue;
    xs_cu_ptr made;
    if (!va || bytes == 0)
        return invalid("NULL argument or size 0");
    xs_cu_result result = pool_queue(stream, &queue);
    if (result == XS_CUDA_SUCCESS)
        result = block_new(queue->ctx, bytes, &made);
    if (result == XS_CUDA_SUCCESS)
        *va = made;
    return result;
}

xs_cu_result xs_sim_do_cuMemFreeAsync(xs_cu_ptr va, xs_cu_stream stream)
{
    struct xs_sim_queue *queue;
    struct block *block;
    if (va == 0)
        return XS_CUDA_SUCCESS;
    xs_cu_result result = pool_queue(stream, &queue);
    if (result == XS_CUDA_SUCCESS)
        result = check_free(va, &block);
    if (result != XS_CUDA_SUCCESS)
        return result;
    block->is_freeing = true;
    struct xs_sim_item *item = xs_sim_item_new(XS_SIM_FREE);
    item->use[0].va = va;
    result = xs_sim_stream_submit(queue, item);
    if (result != XS_CUDA_SUCCESS)
        block->is_freeing = false;
    return result;
}

xs_cu_result xs_sim_do_cuMemGetInfo_v2(size_t *free_bytes, size_t *total_bytes)
{
    if (!free_bytes || !total_bytes)
        return invalid("NULL argument");
    const struct xs_sim_physical *physical = &xs_sim.physical[xs_sim_context_current()->device];
    *free_bytes = physical->capacity - physical->used;
    *total_bytes = physical->capacity;
    return XS_CUDA_SUCCESS;
}
