#include "cache/cache.h"

#include <string.h>

#include "base/meta.h"
#include "cache/cache_hit.h"

#define XS_CACHE_NO_GENERATION UINT64_MAX

struct xs_cache *xs_cache_new(const struct xs_cache_shared *shared, void *device)
{
    struct xs_cache *c = xs_meta_map(sizeof(*c));
    if (!c)
        return NULL;
    xs_biased_lock_init(&c->lock);
    xs_list_init(&c->link);
    c->shared = shared;
    c->device = device;
    c->generation = c->hit_generation = XS_CACHE_NO_GENERATION; /* until the first refresh */
    return c;
}

void xs_cache_delete(struct xs_cache *c)
{
    xs_biased_lock_destroy(&c->lock);
    xs_meta_unmap(c, sizeof(*c));
}

static bool rounds_plainly(const struct xs_policy *policy)
{
    for (unsigned i = 0; i < XS_COUNT_OF(policy->roundup_power2_divisions); i++)
        if (policy->roundup_power2_divisions[i] > 1)
            return false;
    return true;
}

static uint16_t limit_of(const struct xs_cache *c, uint64_t key)
{
    bool asked = c->bin[xs_cache_slot(key)].asked;
    return asked || c->bin_limit < XS_CACHE_PASSING ? c->bin_limit : XS_CACHE_PASSING;
}

static void set_bin_limit(struct xs_cache *c, uint16_t limit)
{
    if (c->bin_limit == limit)
        return;
    c->bin_limit = limit;
    for (unsigned i = 0; i < XS_CACHE_BINS; i++)
        c->bin[i].limit = limit_of(c, c->bin[i].key);
}

void xs_cache_refresh(struct xs_cache *c, const struct xs_policy *policy, bool enabled)
{
    c->generation = atomic_load(&c->shared->generation);
    c->policy = *policy;
    c->hit_generation = enabled && rounds_plainly(policy) && !policy->history_stacks
                            ? c->generation
                            : XS_CACHE_NO_GENERATION;
    c->enabled = enabled;
    set_bin_limit(c, enabled ? (uint16_t)policy->cache_blocks : 0); /* 0: takes nothing */
    c->bytes_limit = policy->cache_bytes;
    c->keep_limit = policy->cache_keep;
    for (unsigned i = 0; i < XS_CACHE_STREAMS; i++)
        c->stream[i].handle = XS_CACHE_NO_STREAM;
    xs_biased_lock_enter(&c->lock);
    xs_cache_follow(c);
    xs_biased_lock_leave(&c->lock);
}

void xs_cache_record(struct xs_cache *c, enum xs_event_kind kind, const struct xs_block *block)
{
    xs_ring_add(c->ring, kind, block->heap->pool_number, xs_block_va(block), block->requested,
                block->stream->key.handle);
}

/* ---- lists ---------------------------------------------------------------------------------- */

static void append(struct xs_cached_list *list, struct xs_block *block)
{
    xs_cached_link(block, list->head);
    list->head = block;
    list->count++;
}

/* Moves up to `n` blocks of a bin to the list. */
static void move_blocks(struct xs_cache_bin *bin, uint32_t n, struct xs_cached_list *out)
{
    for (; n && bin->head; n--) {
        struct xs_block *block = bin->head;
        bin->head = block->next_cached;
        bin->count--;
        append(out, block);
    }
}

/* ---- the owner's ---------------------------------------------------------------------------- */

void xs_cache_make_bin(struct xs_cache *c, uint64_t key, struct xs_cached_list *out)
{
    xs_biased_lock_enter(&c->lock);
    if (!xs_cache_bin_of(c, key)) {
        struct xs_cache_bin *a = &c->bin[xs_cache_slot(key)], *b = &c->bin[xs_cache_slot(key) ^ 1];
        struct xs_cache_bin *victim = !a->head ? a : !b->head || b->count < a->count ? b : a;
        move_blocks(victim, UINT32_MAX, out);
        *victim = (struct xs_cache_bin){.key = key,
                                        .limit = limit_of(c, key),
                                        .listed = victim->listed,
                                        .asked = victim->asked};
    }
    xs_biased_lock_leave(&c->lock);
}

void xs_cache_expect_more(struct xs_cache *c, uint64_t key)
{
    xs_biased_lock_enter(&c->lock);
    struct xs_cache_bin *bin = xs_cache_bin_of(c, key);
    c->bin[xs_cache_slot(key)].asked = true;
    if (bin)
        bin->limit = limit_of(c, key);
    xs_biased_lock_leave(&c->lock);
}

void xs_cache_take_half(struct xs_cache *c, uint64_t key, struct xs_cached_list *out)
{
    xs_biased_lock_enter(&c->lock);
    struct xs_cache_bin *bin = xs_cache_bin_of(c, key);
    if (bin && bin->count >= bin->limit)
        move_blocks(bin, (bin->count + 1) / 2, out);
    xs_biased_lock_leave(&c->lock);
}

/* Blocks of so many bytes that the bins may still get. */
static size_t room_for(const struct xs_cache *c, size_t bytes)
{
    if (c->bytes_limit == SIZE_MAX)
        return SIZE_MAX;
    return (c->bytes_limit - xs_min(c->bytes_limit, xs_cache_bytes(c))) / bytes;
}

/* The blocks' own lines are not touched: another thread wrote them last, and each will be fetched when it is
 * handed out. */
void xs_cache_fill(struct xs_cache *c, uint64_t key, struct xs_cached_list *blocks,
                   struct xs_cached_list *out)
{
    xs_biased_lock_enter(&c->lock);
    struct xs_cache_bin *bin = xs_cache_bin_of(c, key);
    size_t most = room_for(c, xs_cache_key_bytes(key));
    xs_cache_list_bin(c, bin);
    bin->head = blocks->head;
    bin->count = (uint16_t)blocks->count;
    if (bin->count > most)
        move_blocks(bin, bin->count - (uint32_t)most, out);
    xs_biased_lock_leave(&c->lock);
    *blocks = (struct xs_cached_list){0};
}

void xs_cache_book_alloc(struct xs_cache *c, size_t requested, size_t bytes)
{
    xs_biased_lock_enter(&c->lock);
    XS_WRITE(c->counts.misses, XS_READ(c->counts.misses) + 1);
    xs_cache_count_in(&c->counts, requested, bytes);
    xs_biased_lock_leave(&c->lock);
}

void xs_cache_book_free(struct xs_cache *c, size_t requested, size_t bytes)
{
    xs_biased_lock_enter(&c->lock);
    xs_cache_count_freed(c, requested, bytes);
    xs_biased_lock_leave(&c->lock);
}

/* Empties a bin and takes it off the list of filled ones, which is the caller's to mend. False: it was empty. */
static bool take_head(struct xs_cache_bin *bin, struct xs_block **head)
{
    *head = bin->head;
    bin->head = NULL;
    bin->count = 0;
    bin->listed = false;
    return *head != NULL;
}

/* Takes the heads of all bins; returns how many. Under the lock. */
static uint32_t take_heads(struct xs_cache *c, struct xs_block *heads[XS_CACHE_BINS])
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < c->filled; i++)
        if (take_head(&c->bin[c->filled_bin[i]], &heads[n]))
            n++;
    c->filled = 0;
    return n;
}

static void append_chains(struct xs_cached_list *out, struct xs_block *const *heads, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        for (struct xs_block *block = heads[i], *next; block; block = next) {
            next = block->next_cached;
            append(out, block);
        }
    }
}

void xs_cache_take_large(struct xs_cache *c, struct xs_cached_list *out)
{
    uint32_t kept = 0;
    xs_biased_lock_enter(&c->lock);
    for (uint32_t i = 0; i < c->filled; i++) {
        struct xs_cache_bin *bin = &c->bin[c->filled_bin[i]];
        if (xs_cache_key_bytes(bin->key) <= c->keep_limit) {
            c->filled_bin[kept++] = c->filled_bin[i];
            continue;
        }
        move_blocks(bin, UINT32_MAX, out);
        bin->listed = false;
    }
    c->filled = kept;
    xs_biased_lock_leave(&c->lock);
}

/* ---- anybody's ------------------------------------------------------------------------------ */

static void lock(struct xs_cache *c, bool own)
{
    own ? xs_biased_lock_enter(&c->lock) : xs_biased_lock_acquire(&c->lock);
}

static void unlock(struct xs_cache *c, bool own)
{
    own ? xs_biased_lock_leave(&c->lock) : xs_biased_lock_release(&c->lock);
}

size_t xs_cache_bytes(const struct xs_cache *c)
{
    size_t bytes = 0;
    for (uint32_t i = 0; i < c->filled; i++) {
        const struct xs_cache_bin *bin = &c->bin[c->filled_bin[i]];
        bytes += bin->count * xs_cache_key_bytes(bin->key);
    }
    return bytes;
}

static void move_tally(struct xs_tally *from, struct xs_tally *to)
{
    XS_WRITE(to->in, XS_READ(from->in));
    XS_WRITE(to->net, XS_READ(from->net));
    XS_WRITE(to->peak, XS_READ(from->peak));
    XS_WRITE(from->in, 0);
    XS_WRITE(from->net, 0);
    XS_WRITE(from->peak, 0);
}

void xs_cache_take_counts(struct xs_cache *c, struct xs_cache_counts *to)
{
    struct xs_cache_counts *from = &c->counts;
    move_tally(&from->requested, &to->requested);
    move_tally(&from->allocated, &to->allocated);
    move_tally(&from->blocks, &to->blocks);
    XS_WRITE(to->misses, XS_READ(from->misses));
    XS_WRITE(from->misses, 0);
    xs_cache_follow(c);
}

/* Only the bins' heads are taken under the lock; the blocks are walked when the owner can go on. */
void xs_cache_take_all(struct xs_cache *c, bool own, struct xs_cached_list *out,
                       struct xs_cache_counts *counts)
{
    struct xs_block *heads[XS_CACHE_BINS];
    lock(c, own);
    uint32_t n = take_heads(c, heads);
    xs_cache_take_counts(c, counts);
    unlock(c, own);
    append_chains(out, heads, n);
}
