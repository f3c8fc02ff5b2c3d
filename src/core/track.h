/*
 * Recording what happens to blocks, extents and segments in the history (stats/history.h), and whose a block is. One
 * test each where history is off.
 *
 * Under HEAP, but for xs_track_begin(), xs_track_end() and xs_track_tag().
 */
#ifndef XS_CORE_TRACK_H
#define XS_CORE_TRACK_H

#include "base/clock.h"
#include "core/alloc.h"
#include "core/runtime.h"
#include "stats/stack.h"
#include "stats/tag.h"

/* `own`: the calling thread's cache, or NULL. */
static inline void xs_track(struct xs_device *dev, struct xs_cache *own, enum xs_event_kind kind,
                            const struct xs_block *block)
{
    if (own && own->ring)
        xs_cache_record(own, kind, block);
    else
        xs_history_note(&dev->history, kind, block->heap->pool_number, xs_block_va(block),
                        block->requested, block->stream->key.handle);
}

/* A block is handed out. */
static inline void xs_track_alloc(struct xs_device *dev, struct xs_cache *own,
                                  struct xs_block *block)
{
    block->origin = own ? own->origin : (struct xs_origin){xs_tag_current(), xs_clock_coarse_ms()};
    xs_track(dev, own, XS_EVENT_ALLOC, block);
}

/* Memory comes into the heap or leaves it, which is also counted. */
static inline void xs_track_mapping(struct xs_heap *heap, enum xs_event_kind kind, xs_cu_ptr va,
                                    size_t bytes)
{
    struct xs_device *dev = heap->owner;
    bool comes = kind == XS_EVENT_MAP || kind == XS_EVENT_SEGMENT_ALLOC;
    heap->mapped_bytes += comes ? bytes : -bytes;
    xs_history_note(&dev->history, kind, heap->pool_number, va, bytes, NULL);
}

static inline void xs_track_extent(struct xs_heap *heap, enum xs_event_kind kind,
                                   const struct xs_extent *extent)
{
    xs_track_mapping(heap, kind, extent->va, extent->bytes);
}

static inline void xs_track_segment(struct xs_heap *heap, enum xs_event_kind kind,
                                    const struct xs_segment *segment)
{
    xs_track_mapping(heap, kind, segment->base, segment->bytes);
}

/* The calling thread begins, and ends, a request that was no hit: it learns what time it is, those who watch are told
 * now and then, and its stack is taken where that is asked for. No lock is held. */
static inline void xs_track_begin(const struct xs_request *request)
{
    struct xs_cache *own = request->own;
    if (xs_unlikely(!own))
        return;
    own->origin = (struct xs_origin){xs_tag_current(), xs_clock_coarse_ms()};
    uint32_t told = atomic_load_explicit(&request->dev->tick_ms, memory_order_relaxed);
    if (xs_unlikely(own->origin.since_ms - told >= XS_TICK_MS))
        xs_runtime_tick(request->dev, own->origin.since_ms);
    if (xs_unlikely(own->policy.history_stacks && own->ring))
        xs_thread_current->stack = xs_stack_take();
}

static inline void xs_track_end(const struct xs_request *request)
{
    if (xs_unlikely(request->own && request->own->policy.history_stacks))
        xs_thread_current->stack = 0;
}

/* The calling thread's tag has changed: its caches follow. */
void xs_track_tag(void);

#endif
