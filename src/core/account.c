#include "core/account.h"

#include "cache/cache_hit.h"

/* Allocated bytes less freed ones, booked by threads and not yet merged. */
struct pending {
    int64_t requested;
    int64_t allocated;
    int64_t blocks;
};

/* What other threads have booked. They may be at it; the sum is as true as any moment's. */
static struct pending pending_of_others(const struct xs_device *dev, const struct xs_cache *own)
{
    struct pending sum = {0};
    XS_LIST_FOR_EACH(link, &dev->caches) {
        const struct xs_cache *c = XS_CONTAINER_OF(link, const struct xs_cache, link);
        if (c == own)
            continue;
        sum.requested += XS_READ(c->counts.requested.net);
        sum.allocated += XS_READ(c->counts.allocated.net);
        sum.blocks += XS_READ(c->counts.blocks.net);
    }
    return sum;
}

static void raise_peak(struct xseg_gauge *gauge, int64_t more)
{
    int64_t now = (int64_t)gauge->current + more;
    if (now > (int64_t)gauge->peak)
        gauge->peak = (uint64_t)now;
}

/* One thread's peak is everybody's. Among several it says nothing: one may only allocate, another only free. */
static void merge_tally(struct xseg_gauge *gauge, const struct xs_tally *t, int64_t others,
                        bool many)
{
    raise_peak(gauge, (many ? t->net : t->peak) + others);
    gauge->current += (uint64_t)t->net;
    gauge->allocated += t->in;
    gauge->freed += xs_tally_out(t);
}

/* Threads are looked at one after the other, so the sum may be more than there ever was. */
static void cap_peak(struct xseg_gauge *gauge, const struct xseg_gauge *reserved)
{
    gauge->peak = xs_min(gauge->peak, reserved->peak);
}

static void cap_peaks(struct xseg_stats *now)
{
    cap_peak(&now->requested_bytes, &now->reserved_bytes);
    cap_peak(&now->allocated_bytes, &now->reserved_bytes);
    cap_peak(&now->active_bytes, &now->reserved_bytes);
}

static void merge(struct xs_device *dev, const struct xs_cache_counts *n, struct pending others)
{
    struct xseg_stats *now = &dev->stats.now;
    bool many = atomic_load_explicit(&dev->cache_shared.many, memory_order_relaxed);
    merge_tally(&now->requested_bytes, &n->requested, others.requested, many);
    merge_tally(&now->allocated_bytes, &n->allocated, others.allocated, many);
    merge_tally(&now->active_bytes, &n->allocated, others.allocated, many);
    cap_peaks(now);
    merge_tally(&now->allocations, &n->blocks, others.blocks, many);
    now->cached_bytes.current -= (uint64_t)n->allocated.net;
    now->cached_bytes.allocated += xs_tally_out(&n->allocated);
    now->cached_bytes.freed += n->allocated.in;
    now->cache_hits += n->blocks.in - n->misses;
}

void xs_account_merge(struct xs_device *dev, const struct xs_cache_counts *counts)
{
    merge(dev, counts, pending_of_others(dev, NULL));
}

static struct xs_cache *cache_of(struct xs_list *link)
{
    return XS_CONTAINER_OF(link, struct xs_cache, link);
}

/* All at once: a block may be booked by one thread when it is allocated and by another when it is freed, and
 * no reading may see the one without the other. */
void xs_account_stop(struct xs_device *dev, struct xs_cache *own)
{
    if (own) /* first: it may have to wait for a flush, which must not find the others locked */
        xs_biased_lock_enter(&own->lock);
    bool others = false;
    XS_LIST_FOR_EACH(link, &dev->caches) {
        if (cache_of(link) == own)
            continue;
        xs_biased_lock_want(&cache_of(link)->lock);
        others = true;
    }
    if (others)
        xs_biased_lock_barrier();
    XS_LIST_FOR_EACH(link, &dev->caches)
        if (cache_of(link) != own)
            xs_biased_lock_await(&cache_of(link)->lock);
}

void xs_account_go(struct xs_device *dev, struct xs_cache *own)
{
    XS_LIST_FOR_EACH(link, &dev->caches)
        if (cache_of(link) != own)
            xs_biased_lock_release(&cache_of(link)->lock);
    if (own)
        xs_biased_lock_leave(&own->lock);
}

void xs_account_merge_stopped(struct xs_device *dev)
{
    XS_LIST_FOR_EACH(link, &dev->caches) {
        struct xs_cache_counts counts;
        xs_cache_take_counts(cache_of(link), &counts);
        merge(dev, &counts, pending_of_others(dev, cache_of(link)));
    }
    raise_peak(&dev->stats.now.cached_bytes, 0); /* not before: half of a hand-over is no peak */
}

void xs_account_merge_all(struct xs_device *dev, struct xs_cache *own)
{
    xs_assert_held(&dev->lock);
    xs_account_stop(dev, own);
    xs_account_merge_stopped(dev);
    xs_account_go(dev, own);
}

static void add(struct xseg_gauge *gauge, uint64_t n, int64_t others)
{
    gauge->current += n;
    gauge->allocated += n;
    raise_peak(gauge, others);
}

void xs_account_look(struct xs_device *dev, struct xs_cache *own)
{
    struct xseg_stats *now = &dev->stats.now;
    xs_assert_held(&dev->lock);
    if (xs_likely(xs_cache_is_below(own, 0)))
        return;
    struct pending all = pending_of_others(dev, NULL);
    raise_peak(&now->requested_bytes, all.requested);
    raise_peak(&now->allocated_bytes, all.allocated);
    raise_peak(&now->active_bytes, all.allocated);
    raise_peak(&now->allocations, all.blocks);
    cap_peaks(now);
    xs_biased_lock_enter(&own->lock);
    xs_cache_follow(own);
    xs_biased_lock_leave(&own->lock);
}

/* cached = reserved - active at every moment, so each change is booked twice. */
void xs_account_alloc(struct xs_device *dev, struct xs_cache *own, size_t requested, size_t bytes)
{
    if (own) {
        xs_cache_book_alloc(own, requested, bytes);
        xs_account_look(dev, own);
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
        dev->went_out = dev->came_back = dev->most_out = 0;
}
