/* Threads in pools of their own and in shared ones, pools that are destroyed while others allocate from them, and all of
 * that beside flushes, trims, growth and readings. */
#include "race.h"
#include "xseg/pools.h"

#define SHARED 3

static struct {
    pthread_mutex_t lock;
    xseg_pool pool[SHARED];
} shared = {.lock = PTHREAD_MUTEX_INITIALIZER};

static xseg_pool new_pool(unsigned flags)
{
    xseg_pool pool;
    XT_OK(xseg_pool_create(0, flags, &pool));
    return pool;
}

static void make_shared(void)
{
    for (unsigned i = 0; i < SHARED; i++)
        shared.pool[i] = new_pool(i == 1 ? XSEG_POOL_USE_ON_OOM : 0);
}

static void end_shared(void)
{
    for (unsigned i = 0; i < SHARED; i++)
        XT_OK(xseg_pool_destroy(shared.pool[i]));
}

static xseg_pool any_shared(struct racer *r)
{
    pthread_mutex_lock(&shared.lock);
    xseg_pool pool = shared.pool[race_below(r, SHARED)];
    pthread_mutex_unlock(&shared.lock);
    return pool;
}

static void some_blocks(struct racer *r)
{
    struct held held[8];
    unsigned n = 0;
    while (n < XS_COUNT_OF(held) && race_take(r, &held[n], race_size(r), NULL))
        n++;
    while (n)
        race_give(&held[--n]);
}

/* A pool's whole life, with blocks that outlive it. */
static void live_and_die(struct racer *r)
{
    while (race_goes_on()) {
        xseg_pool pool = new_pool((unsigned)race_below(r, 4));
        struct held kept;
        XT_OK(xseg_pool_begin(pool));
        some_blocks(r);
        bool has = race_take(r, &kept, race_size(r), NULL);
        if (race_below(r, 2))
            XT_OK(xseg_pool_end(pool));
        XT_OK(xseg_pool_destroy(pool));
        some_blocks(r);
        if (has)
            race_give(&kept);
    }
}

/* Whoever destroys it meanwhile, the name is refused, or what it gives stays valid. */
static void use_shared(struct racer *r)
{
    while (race_goes_on()) {
        xseg_pool pool = any_shared(r), from;
        struct held h = {.bytes = race_size(r), .number = (uint64_t)(r->number + 1) << 48};
        void *p = NULL;
        enum xseg_result e = xseg_pool_malloc(&p, h.bytes, pool, NULL);
        if (e && e != XSEG_ERROR_INVALID_VALUE && e != XSEG_ERROR_OUT_OF_MEMORY)
            XT_FAIL("%s: %s", xseg_result_name(e), xseg_last_error());
        if (!p)
            continue;
        h.p = p;
        h.number |= ++r->made;
        race_fill(&h);
        XT_OK(xseg_pool_of(p, &from));
        XT_CHECK(from == pool || from == 0);
        race_give(&h);
    }
}

static void replace_shared(struct racer *r)
{
    while (race_goes_on()) {
        xseg_pool fresh = new_pool(race_below(r, 2) ? 0 : XSEG_POOL_USE_ON_OOM);
        pthread_mutex_lock(&shared.lock);
        xseg_pool *slot = &shared.pool[race_below(r, SHARED)], old = *slot;
        *slot = fresh;
        pthread_mutex_unlock(&shared.lock);
        if (race_below(r, 2))
            XT_OK(xseg_pool_release(old));
        XT_OK(xseg_pool_destroy(old));
        race_pause((long)race_below(r, 300));
    }
}

static void stay_outside(struct racer *r)
{
    while (race_goes_on())
        some_blocks(r);
}

static void flush(struct racer *r)
{
    while (race_goes_on()) {
        XT_OK(race_below(r, 2) ? xseg_empty_cache(0) : xseg_trim(0, 8 * XS_MIB));
        race_pause((long)race_below(r, 1000));
    }
}

static void read_stats(struct racer *r)
{
    while (race_goes_on()) {
        struct xseg_stats s = xt_stats(0);
        struct xseg_pool_stats p = {.size = sizeof(p)};
        xt_check_stats(&s);
        if (!xseg_pool_get_stats(any_shared(r), &p))
            XT_AT_MOST(p.active_bytes, p.reserved_bytes);
    }
}

int main(int argc, char **argv)
{
    static const struct scene scenes[] = {
        {"pools of threads", NULL, NULL, {{live_and_die, 3}, {stay_outside, 1}, {flush, 1}}, NULL},
        {"pools of threads, classic",
         "expandable_segments:False",
         NULL,
         {{live_and_die, 3}, {stay_outside, 1}, {flush, 1}},
         NULL},
        {"pools that are destroyed by others",
         NULL,
         make_shared,
         {{use_shared, 3}, {replace_shared, 1}, {stay_outside, 1}, {read_stats, 1}},
         end_shared},
        {"all of it under a limit",
         "memory_limit:40M",
         make_shared,
         {{use_shared, 2}, {replace_shared, 1}, {live_and_die, 2}, {flush, 1}, {read_stats, 1}},
         end_shared},
    };
    return race_main(scenes, XS_COUNT_OF(scenes), argc, argv);
}
