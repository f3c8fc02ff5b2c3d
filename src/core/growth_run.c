#include "base/error.h"
#include "core/account.h"
#include "core/growth.h"
#include "core/stale.h"
#include "core/track.h"
#include "driver/driver.h"

/* What became of an extent that was to move or be traded, in its `target`, where that did not come about. */
enum { LOST_PLACE = 0, LOST_MEMORY = 1, LOST_NOTHING = 2, LOST_ACCESS = 3 };

static struct xs_extent *extent_of(struct xs_list *link)
{
    return XS_CONTAINER_OF(link, struct xs_extent, link);
}

/* ---- the driver's part: each step undoes itself, so a failure leaves the driver as it was ------ */

static void set_aside(struct xs_list *list, struct xs_list *link)
{
    xs_list_remove(link);
    xs_list_push_back(list, link);
}

static void release_fresh(struct xs_growth *g, struct xs_list *end)
{
    for (struct xs_list *link = g->fresh.next, *next; link != end; link = next) {
        next = link->next;
        if (xs_cu_mem_release(extent_of(link)->mem))
            set_aside(&g->kept, link);
    }
}

static xs_cu_result create_fresh(struct xs_growth *g)
{
    XS_LIST_FOR_EACH(link, &g->fresh) {
        struct xs_extent *e = extent_of(link);
        xs_cu_result code = xs_extent_create(&g->dev->extents, e->bytes, &e->mem);
        if (!code)
            continue;
        if (code == XS_CUDA_ERROR_OUT_OF_MEMORY)
            g->dev->max_fresh_bytes = e->bytes > g->dev->caps.granule ? e->bytes / 2 : 0;
        release_fresh(g, link);
        return code;
    }
    return XS_CUDA_SUCCESS;
}

static unsigned map_and_open(struct xs_growth *g, const struct xs_extent *e)
{
    if (xs_segment_map(e->va, e))
        return LOST_PLACE;
    if (!xs_segment_open(&g->dev->caps, e->va, e->bytes))
        return LOST_NOTHING;
    return xs_segment_unmap(e->va, e->bytes) ? LOST_ACCESS : LOST_PLACE;
}

/* Maps extents again where they were; what came of it is in their targets. */
static void map_back(struct xs_growth *g, struct xs_list *list, const struct xs_list *end)
{
    for (struct xs_list *link = list->next; link != end; link = link->next)
        extent_of(link)->target = map_and_open(g, extent_of(link));
}

static xs_cu_result unmap_old(struct xs_growth *g, struct xs_list *list)
{
    XS_LIST_FOR_EACH(link, list) {
        xs_cu_result code = xs_segment_unmap(extent_of(link)->va, extent_of(link)->bytes);
        if (!code)
            continue;
        map_back(g, list, link);
        return code;
    }
    return XS_CUDA_SUCCESS;
}

/* Takes released extents again from the driver, and maps them where they were. */
static void take_back(struct xs_growth *g, const struct xs_list *end)
{
    for (struct xs_list *link = g->traded.next; link != end; link = link->next) {
        struct xs_extent *e = extent_of(link);
        if (xs_extent_create(&g->dev->extents, e->bytes, &e->mem))
            e->target = LOST_MEMORY;
        else
            e->target = map_and_open(g, e);
    }
}

/* What is traded is no longer mapped. */
static xs_cu_result release_traded(struct xs_growth *g)
{
    XS_LIST_FOR_EACH(link, &g->traded) {
        xs_cu_result code = xs_cu_mem_release(extent_of(link)->mem);
        if (!code)
            continue;
        map_back(g, link->prev,
                 &g->traded); /* from the refused one on they only lost their place */
        take_back(g, link);
        return code;
    }
    return XS_CUDA_SUCCESS;
}

static struct xs_list *sources(struct xs_growth *g, unsigned i)
{
    struct xs_list *lists[] = {&g->idle, &g->moved, &g->aliased, &g->fresh};
    return i < XS_COUNT_OF(lists) ? lists[i] : NULL;
}

static struct xs_list *stuck(struct xs_growth *g, const struct xs_list *list)
{
    return list == &g->fresh ? &g->stuck_fresh : list == &g->aliased ? &g->stuck_alias : &g->stuck;
}

/* Unmaps from the targets all that map_targets() had mapped before `end`; NULL: all of it. */
static void unmap_targets(struct xs_growth *g, const struct xs_list *end)
{
    struct xs_list *list;
    for (unsigned i = 0; (list = sources(g, i)); i++) {
        XS_LIST_FOR_EACH_SAFE(link, list) {
            if (link == end)
                return;
            if (xs_segment_unmap(extent_of(link)->target, extent_of(link)->bytes))
                set_aside(stuck(g, list), link);
        }
    }
}

static xs_cu_result map_targets(struct xs_growth *g)
{
    struct xs_list *list;
    for (unsigned i = 0; (list = sources(g, i)); i++) {
        XS_LIST_FOR_EACH(link, list) {
            xs_cu_result code = xs_segment_map(extent_of(link)->target, extent_of(link));
            if (!code)
                continue;
            unmap_targets(g, link);
            return code;
        }
    }
    return XS_CUDA_SUCCESS;
}

static bool was_hole(const struct xs_block *block)
{
    return !xs_segment_extent_at(block->segment, xs_block_va(block));
}

/* One call for each stretch that was a hole. */
static xs_cu_result open_targets(struct xs_growth *g)
{
    for (struct xs_block *block = g->first;; block = xs_block_next(block)) {
        if (was_hole(block)) {
            xs_cu_result code =
                xs_segment_open(&g->dev->caps, xs_block_va(block), xs_block_bytes(block));
            if (code)
                return code;
        }
        if (block == g->last)
            return XS_CUDA_SUCCESS;
    }
}

static xs_cu_result call_driver(struct xs_growth *g)
{
    xs_cu_result code = unmap_old(g, &g->moved);
    if (code)
        return code;
    code = unmap_old(g, &g->traded);
    if (code)
        goto restore_moved;
    code = release_traded(g);
    if (code)
        goto restore_moved;
    code = create_fresh(g);
    if (code)
        goto restore_traded;
    code = map_targets(g);
    if (code)
        goto release;
    code = open_targets(g);
    if (!code)
        return XS_CUDA_SUCCESS;
    unmap_targets(g, NULL);
release:
    release_fresh(g, &g->fresh);
restore_traded:
    take_back(g, &g->traded);
restore_moved:
    map_back(g, &g->moved, &g->moved);
    return code;
}

/* ---- publication ---------------------------------------------------------------------------- */

/* Under HEAP: the extent is no longer where it was. */
static void leave_place(struct xs_extent *e)
{
    xs_list_remove(&e->link);
    xs_track_extent(e->block->heap, XS_EVENT_UNMAP, e);
    xs_segment_detach(e->block->segment, e);
    xs_heap_put_hole(e->block->heap, e->block);
}

/* Under HEAP: it serves elsewhere, but stays mapped where it was as well. */
static void leave_alias(struct xs_growth *g, struct xs_extent *e)
{
    xs_list_remove(&e->link);
    xs_track_extent(e->block->heap, XS_EVENT_UNMAP, e);
    xs_segment_detach(e->block->segment, e);
    xs_stale_put(g->dev, e->block, e);
}

/* Under HEAP: the driver has it no more. */
static void forget_extent(struct xs_device *dev, struct xs_extent *e)
{
    leave_place(e);
    xs_account_release(dev, e->bytes);
    xs_gauge_sub(&dev->stats.now.extents, 1);
    xs_extent_delete(&dev->extents, e);
}

static void attach(const struct xs_growth *g, struct xs_extent *e)
{
    xs_list_remove(&e->link);
    xs_segment_attach(g->first->segment, e, e->target);
    xs_track_extent(g->heap, XS_EVENT_MAP, e);
}

static void attach_targets(struct xs_growth *g)
{
    struct xs_device *dev = g->dev;
    XS_LIST_FOR_EACH_SAFE(link, &g->traded)
        forget_extent(dev, extent_of(link));
    XS_LIST_FOR_EACH_SAFE(link, &g->idle)
        attach(g, extent_of(link));
    XS_LIST_FOR_EACH_SAFE(link, &g->moved) {
        leave_place(extent_of(link));
        attach(g, extent_of(link));
        dev->stats.now.extents_moved++;
    }
    XS_LIST_FOR_EACH_SAFE(link, &g->aliased) {
        leave_alias(g, extent_of(link));
        attach(g, extent_of(link));
        dev->stats.now.extents_moved++;
        dev->stats.now.extents_aliased++;
    }
    XS_LIST_FOR_EACH_SAFE(link, &g->fresh) {
        xs_account_reserve(dev, extent_of(link)->bytes);
        xs_gauge_add(&dev->stats.now.extents, 1);
        attach(g, extent_of(link));
    }
}

static struct xs_block *join_window(struct xs_growth *g)
{
    struct xs_block *block = g->first;
    bool whole = g->first == g->last;
    while (!whole) {
        struct xs_block *next = xs_block_next(block);
        whole = next == g->last;
        xs_heap_join_busy(g->heap, block, next);
    }
    return block;
}

/* The window becomes one block, and what was mapped beyond the request free: for others than the stream only once the
 * GPU has passed what is aliased. Where there is no host memory for the cuts, the caller gets all of it. */
static struct xs_block *finish_window(struct xs_growth *g)
{
    struct xs_heap *heap = g->heap;
    struct xs_block *block = join_window(g), *left = NULL, *right = NULL;
    bool can_cut = xs_heap_reserve(heap, 2);
    if (g->alias_stamp)
        xs_heap_stamp(block, g->stream, g->alias_stamp);
    if (can_cut && xs_block_end(block) > g->va + g->bytes)
        right = xs_heap_cut_busy(heap, block, g->va + g->bytes - xs_block_va(block));
    if (can_cut && g->va > xs_block_va(block)) {
        left = block;
        block = xs_heap_cut_busy(heap, left, g->va - xs_block_va(left));
    }
    if (left)
        xs_heap_put(heap, left, left->stream, left->stamp);
    if (right)
        xs_heap_put(heap, right, right->stream, right->stamp);
    xs_heap_make_live(block, g->stream);
    return block;
}

static struct xs_block *publish(struct xs_growth *g)
{
    struct xseg_stats *now = &g->dev->stats.now;
    ++*(xs_list_is_empty(&g->fresh) ? &now->rung_map : &now->rung_create);
    attach_targets(g);
    return finish_window(g);
}

/* After a failure: what could not be mapped back where it was is idle now, and what the driver did not give
 * back is gone; their places are holes. What is mapped and cannot be used stays BUSY for good. */
static void drop_lost(struct xs_device *dev, struct xs_list *list)
{
    XS_LIST_FOR_EACH_SAFE(link, list) {
        struct xs_extent *e = extent_of(link);
        if (e->target == LOST_MEMORY) {
            forget_extent(dev, e);
        } else if (e->target == LOST_PLACE) {
            leave_place(e);
            xs_extent_put_idle(&dev->extents, e);
        } else if (e->target == LOST_ACCESS) {
            xs_list_remove(link);
        }
    }
}

/* Fresh extents that the driver did not take back are held like any other. */
static void book_kept(struct xs_growth *g, struct xs_list *list)
{
    struct xs_device *dev = g->dev;
    XS_LIST_FOR_EACH_SAFE(link, list) {
        struct xs_extent *e = extent_of(link);
        xs_list_remove(link);
        e->va = 0;
        xs_account_reserve(dev, e->bytes);
        xs_gauge_add(&dev->stats.now.extents, 1);
        if (list == &g->kept)
            xs_extent_put_idle(&dev->extents, e);
        else
            xs_list_push_back(&g->stuck, link);
    }
}

/* Aliased ones serve where they are stuck, if anywhere. */
static void book_stuck_alias(struct xs_growth *g)
{
    XS_LIST_FOR_EACH_SAFE(link, &g->stuck_alias) {
        leave_alias(g, extent_of(link));
        xs_list_push_back(&g->stuck, link);
    }
}

static struct xs_block *block_at(struct xs_segment *segment, xs_cu_ptr va)
{
    struct xs_block *block = xs_block_of_place(segment->blocks.next);
    while (xs_block_end(block) <= va)
        block = xs_block_next(block);
    return block;
}

/* The holes that stuck extents lie in are back: each extent becomes a BUSY block of its own there. */
static void attach_stuck(struct xs_growth *g, struct xs_segment *segment)
{
    struct xs_heap *heap = g->heap;
    XS_LIST_FOR_EACH(link, &g->stuck) {
        struct xs_extent *e = extent_of(link);
        if (e->va) {
            xs_track_extent(e->block->heap, XS_EVENT_UNMAP, e);
            xs_segment_detach(e->block->segment, e);
            xs_heap_put_hole(e->block->heap, e->block);
        }
        e->block = block_at(segment, e->target);
        if (xs_heap_reserve(heap, 2))
            e->block = xs_heap_carve(heap, e->block, e->target, e->bytes);
        xs_segment_attach(segment, e, e->target);
        xs_track_extent(heap, XS_EVENT_MAP, e);
    }
}

/* What can be opened where it is stuck is ordinary free memory; the rest stays BUSY for good. */
static void open_stuck(struct xs_growth *g)
{
    struct xs_device *dev = g->dev;
    XS_LIST_FOR_EACH_SAFE(link, &g->stuck) {
        struct xs_extent *e = extent_of(link);
        xs_list_remove(link);
        if (xs_segment_open(&dev->caps, e->va, e->bytes))
            continue;
        bool in_use = e->stale > 0;
        xs_lock_acquire(&dev->lock);
        xs_heap_put(e->block->heap, e->block, in_use ? g->stream : NULL,
                    in_use ? g->alias_stamp : 0);
        xs_lock_release(&dev->lock);
    }
}

/* Under HEAP: all is as before the plan, but for what the driver would not undo. */
static void roll_back(struct xs_growth *g)
{
    struct xs_segment *segment = g->first->segment;
    drop_lost(g->dev, &g->moved);
    drop_lost(g->dev, &g->traded);
    book_kept(g, &g->kept);
    book_kept(g, &g->stuck_fresh);
    book_stuck_alias(g);
    xs_growth_cancel(g);
    attach_stuck(g, segment);
}

enum xseg_result xs_growth_run(struct xs_growth *g, const struct xs_request *request,
                               struct xs_block **block)
{
    struct xs_device *dev = g->dev;
    xs_cu_result code = call_driver(g);
    xs_lock_acquire(&dev->lock);
    if (!code) {
        *block = publish(g);
        xs_alloc_hand_out(request, *block);
    } else {
        roll_back(g);
    }
    xs_lock_release(&dev->lock);
    open_stuck(g);
    return xs_driver_result(code);
}
