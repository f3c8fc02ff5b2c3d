#include "core/account.h"

/* Allocated bytes less freed ones, booked by threads and not yet merged. */
struct pending {
    int64_t requested;
    int64_t allocated;
};

/* What other threads have booked. They may be at it; the sum is as true as any moment's. */
static struct pending pending_of_others(const struct xs_device *dev, const struct xs_cache *own)
{
    struct pending sum = {0, 0};
    XS_LIST_FOR_EACH(link, &dev->caches) {
        const struct xs_cache *c = XS_CONTAINER_OF(link, const struct xs_cache, link);
        if (c == own)
            continue;
        sum.requested += xs_cache_requested(&c->counts);
        sum.allocated += xs_cache_allocated(&c->counts);
    }
    return sum;
}

static void raise_peak(struct xseg_gauge *gauge, int64_t more)
{
    int64_t now = (int64_t)gauge->current + more;
    if (now > (int64_t)gauge->peak)
        gauge->peak = (uint64_t)now;
}

static void merge_gauge(struct xseg_gauge *gauge, uint64_t in, uint64_t out, int64_t peak)
{
    raise_peak(gauge, peak);
    gauge->current += in - out;
    raise_peak(gauge, 0);
    gauge->allocated += in;
    gauge->freed += out;
}

static void merge(struct xs_device *dev, const struct xs_cache_counts *n, struct pending others)
{
    struct xseg_stats *now = &dev->stats.now;
    merge_gauge(&now->requested_bytes, n->requested_in, n->requested_out,
                n->requested_peak + others.requested);
    merge_gauge(&now->allocated_bytes, n->allocated_in, n->allocated_out,
                n->allocated_peak + others.allocated);
    merge_gauge(&now->active_bytes, n->allocated_in, n->allocated_out,
                n->allocated_peak + others.allocated);
    merge_gauge(&now->allocations, n->allocs, n->frees, n->blocks_peak);
    merge_gauge(&now->cached_bytes, n->allocated_out, n->allocated_in, 0);
    now->cache_hits += n->allocs - n->misses;
}

void xs_account_merge(struct xs_device *dev, const struct xs_cache_counts *counts)
{
    merge(dev, counts, pending_of_others(dev, NULL));
}

void xs_account_merge_all(struct xs_device *dev, const struct xs_cache *own)
{
    xs_assert_held(&dev->lock);
    XS_LIST_FOR_EACH(link, &dev->caches) {
        struct xs_cache *c = XS_CONTAINER_OF(link, struct xs_cache, link);
        struct xs_cache_counts counts;
        xs_cache_take_counts(c, c == own, &counts);
        merge(dev, &counts, pending_of_others(dev, c));
    }
}

static void add(struct xseg_gauge *gauge, uint64_t n, int64_t others)
{
    gauge->current += n;
    gauge->allocated += n;
    raise_peak(gauge, others);
}

/* cached = reserved - active at every moment, so each change is booked twice. */
void xs_account_alloc(struct xs_device *dev, struct xs_cache *own, size_t requested, size_t bytes)
{
    if (own) {
        xs_cache_book_alloc(own, requested, bytes);
        return;
    }
    struct xseg_stats *now = &dev->stats.now;
    struct pending others = pending_of_others(dev, NULL);
    add(&now->requested_bytes, requested, others.requested);
    add(&now->allocated_bytes, bytes, others.allocated);
    add(&now->active_bytes, bytes, others.allocated);
    xs_gauge_sub(&now->cached_bytes, bytes);
    add(&now->allocations, 1, 0);
}

static void book_free(struct xs_device *dev, struct xs_cache *own, size_t requested, size_t bytes)
{
    if (own) {
        xs_cache_book_free(own, requested, bytes);
        return;
    }
    struct xseg_stats *now = &dev->stats.now;
    xs_gauge_sub(&now->requested_bytes, requested);
    xs_gauge_sub(&now->allocated_bytes, bytes);
    xs_gauge_sub(&now->active_bytes, bytes);
    add(&now->cached_bytes, bytes, 0);
    xs_gauge_sub(&now->allocations, 1);
}

void xs_account_free(struct xs_device *dev, struct xs_cache *own, size_t requested, size_t bytes,
                     bool waiting)
{
    book_free(dev, own, requested, bytes);
    if (!waiting)
        return;
    add(&dev->stats.now.active_bytes, bytes, 0);
    xs_gauge_sub(&dev->stats.now.cached_bytes, bytes);
}

void xs_account_settled(struct xs_device *dev, size_t bytes)
{
    xs_gauge_sub(&dev->stats.now.active_bytes, bytes);
    add(&dev->stats.now.cached_bytes, bytes, 0);
}

void xs_account_reserve(struct xs_device *dev, size_t bytes)
{
    add(&dev->stats.now.reserved_bytes, bytes, 0);
    add(&dev->stats.now.cached_bytes, bytes, 0);
}

void xs_account_release(struct xs_device *dev, size_t bytes)
{
    xs_gauge_sub(&dev->stats.now.reserved_bytes, bytes);
    xs_gauge_sub(&dev->stats.now.cached_bytes, bytes);
    if (!dev->stats.now.reserved_bytes.current)
        dev->went_out = dev->came_back = 0;
}
