/*
 * Private pools beside the default one: they come and go, are used by name, by the thread and by a stream. As long as
 * one is held, what is mapped in it only becomes more. Not thread-safe.
 */
#ifndef XS_TEST_MODEL_POOLS_H
#define XS_TEST_MODEL_POOLS_H

#include "model_random.h"
#include "xseg/pools.h"
#include "xseg_fixture.h"

#define MODEL_POOLS 4

static struct {
    xseg_pool pool[MODEL_POOLS]; /* 0: none */
    uint64_t reserved[MODEL_POOLS];
    bool held[MODEL_POOLS];
    bool lends; /* one of them may serve the default pool */
    unsigned made;
} pools;

static inline void pools_make(unsigned i)
{
    unsigned flags = (unsigned)random_below(8);
    flags = flags > 3 ? 0 : flags;
    XT_OK(xseg_pool_create(0, flags, &pools.pool[i]));
    pools.reserved[i] = 0;
    pools.held[i] = true;
    pools.lends |= (flags & XSEG_POOL_USE_ON_OOM) != 0;
    pools.made++;
}

static inline void pools_end(unsigned i)
{
    if (pools.pool[i])
        XT_OK(xseg_pool_destroy(pools.pool[i]));
    pools.pool[i] = 0;
}

/* One of them comes, is released, or goes. */
static inline void pools_step(void)
{
    unsigned i = (unsigned)random_below(MODEL_POOLS);
    if (!pools.pool[i]) {
        pools_make(i);
    } else if (pools.held[i] && random_below(2)) {
        XT_OK(xseg_pool_release(pools.pool[i]));
        pools.held[i] = false;
    } else {
        pools_end(i);
    }
}

static inline void pools_check(void)
{
    for (unsigned i = 0; i < MODEL_POOLS; i++) {
        struct xseg_pool_stats s = {.size = sizeof(s)};
        if (!pools.pool[i])
            continue;
        XT_OK(xseg_pool_get_stats(pools.pool[i], &s));
        XT_AT_MOST(s.reserved_bytes, s.reserved_peak);
        XT_AT_MOST(s.allocated_bytes, s.allocated_peak);
        XT_AT_MOST(s.allocated_peak, s.reserved_peak);
        XT_AT_MOST(s.requested_bytes, s.requested_peak);
        XT_AT_MOST(s.requested_peak, s.allocated_peak);
        XT_EQUAL(s.held, pools.held[i]);
        XT_AT_MOST(s.active_bytes, s.reserved_bytes);
        if (pools.held[i])
            XT_AT_MOST(pools.reserved[i], s.reserved_bytes);
        pools.reserved[i] = s.reserved_bytes;
    }
}

/* A request of one of them, in one of the three ways, or of the default one. Whoever was asked has served. */
static inline void *pools_try(size_t bytes, xs_cu_stream stream)
{
    xseg_pool pool = random_below(3) ? 0 : pools.pool[random_below(MODEL_POOLS)], from;
    if (!pool)
        return xt_try(bytes, stream);
    void *p = NULL;
    enum xseg_result e = XSEG_OK;
    switch (random_below(3)) {
    case 0:
        e = xseg_pool_malloc(&p, bytes, pool, stream);
        if (e && e != XSEG_ERROR_OUT_OF_MEMORY)
            XT_FAIL("%s: %s", xseg_result_name(e), xseg_last_error());
        break;
    case 1:
        XT_OK(xseg_pool_begin(pool));
        p = xt_try(bytes, stream);
        XT_OK(xseg_pool_end(pool));
        break;
    default:
        XT_OK(xseg_pool_begin_stream(pool, stream));
        p = xt_try(bytes, stream);
        XT_OK(xseg_pool_end_stream(pool, stream));
    }
    if (!p)
        return NULL;
    XT_OK(xseg_pool_of(p, &from));
    XT_EQUAL(from, pool);
    return p;
}

#endif
