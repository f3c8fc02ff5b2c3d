/* Hits of the block cache against all that takes it from its thread: flushes, trims, growth, new policies,
 * readings. */
#include "race.h"

/* ---- roles ------------------------------------------------------------------------------------- */

#define WINDOW 24

/* Allocates and frees at random on one stream, a few blocks live. */
static void hit_on(struct racer *r, xs_cu_stream stream)
{
    struct held held[WINDOW] = {{0}};
    while (race_goes_on()) {
        struct held *h = &held[race_below(r, WINDOW)];
        if (h->p)
            race_give(h);
        else if (!race_take(r, h, race_size(r), stream))
            race_pause(100);
    }
    for (unsigned i = 0; i < WINDOW; i++)
        if (held[i].p)
            race_give(&held[i]);
}

static void hit(struct racer *r)
{
    hit_on(r, NULL);
}

static void hit_own_stream(struct racer *r)
{
    xt_make_context(0);
    xs_cu_stream stream = xt_new_stream();
    hit_on(r, stream);
    XT_CU(cu.cuStreamDestroy_v2(stream));
    xt_drop_context(0);
}

static void empty(struct racer *r)
{
    while (race_goes_on()) {
        XT_OK(xseg_empty_cache(race_below(r, 2) ? 0 : XSEG_CURRENT_DEVICE));
        race_pause((long)race_below(r, 300));
    }
}

static void trim(struct racer *r)
{
    while (race_goes_on()) {
        XT_OK(xseg_trim(0, race_below(r, 64) * XS_MIB));
        race_pause((long)race_below(r, 300));
    }
}

/* Needs new memory each time: no free block is that large. */
static void grow(struct racer *r)
{
    struct held h;
    while (race_goes_on()) {
        if (race_take(r, &h, (4 + race_below(r, 60)) * XS_MIB, NULL)) {
            XT_CU(sim.launch(NULL, (uintptr_t)h.p, h.bytes));
            race_give(&h);
        }
        if (!race_below(r, 4))
            XT_OK(xseg_empty_cache(0));
    }
}

static void grow_in_context(struct racer *r)
{
    xt_make_context(0);
    grow(r);
    xt_drop_context(0);
}

static void configure(struct racer *r)
{
    static const char *const confs[] = {"cache:False",
                                        "cache:True,cache_blocks:4",
                                        "cache_bytes:1M",
                                        "cache:auto",
                                        "cache_blocks:256",
                                        "cache_bytes:unlimited",
                                        "poison:90",
                                        "poison:0",
                                        "expandable_segments:False",
                                        "roundup_power2_divisions:4",
                                        "expandable_segments:True"};
    while (race_goes_on()) {
        XT_OK(xseg_configure(confs[race_below(r, XS_COUNT_OF(confs))]));
        race_pause((long)race_below(r, 500));
    }
    XT_OK(xseg_configure("cache:auto,poison:0,expandable_segments:True"));
}

static void read_stats(struct racer *r)
{
    while (race_goes_on()) {
        struct xseg_stats s = xt_stats(0);
        size_t free_bytes, total_bytes;
        xt_check_stats(&s);
        XT_OK(xseg_memory_info(0, &free_bytes, &total_bytes));
        XT_AT_MOST(free_bytes, total_bytes);
        if (!race_below(r, 8))
            XT_OK(xseg_reset_peaks(0));
        if (!race_below(r, 8))
            XT_OK(xseg_reset_totals(0));
    }
}

static void set_limits(struct racer *r)
{
    while (race_goes_on()) {
        XT_OK(xseg_set_limit(0, race_below(r, 3) ? (48 + race_below(r, 64)) * XS_MIB : SIZE_MAX));
        race_pause((long)race_below(r, 2000));
    }
}

/* A block of the size goes through the threads' caches again and again: never to two at once. */
static void ping(struct racer *r)
{
    struct held h;
    while (race_goes_on())
        if (race_take(r, &h, 4 * XS_KIB, NULL))
            race_give(&h);
}

int main(int argc, char **argv)
{
    static const struct scene scenes[] = {
        {"hits against empty_cache", NULL, NULL, {{hit, 2}, {ping, 1}, {empty, 1}}, NULL},
        {"hits against trim and growth",
         NULL,
         NULL,
         {{hit, 2}, {hit_own_stream, 1}, {trim, 1}, {grow_in_context, 1}},
         NULL},
        {"trim against growth", NULL, NULL, {{trim, 1}, {grow_in_context, 2}, {empty, 1}}, NULL},
        {"hits against configure", NULL, NULL, {{hit, 2}, {ping, 1}, {configure, 1}}, NULL},
        {"hits against readings",
         NULL,
         NULL,
         {{hit, 2}, {ping, 1}, {grow_in_context, 1}, {read_stats, 1}},
         NULL},
        {"hits under a limit",
         "memory_limit:64M",
         NULL,
         {{hit, 1}, {hit_own_stream, 3}, {set_limits, 1}},
         NULL},
        {"all at once",
         NULL,
         NULL,
         {{hit, 1},
          {hit_own_stream, 1},
          {grow_in_context, 1},
          {trim, 1},
          {configure, 1},
          {read_stats, 1}},
         NULL},
        {"all at once, classic",
         "expandable_segments:False,cache:True",
         NULL,
         {{hit, 1}, {hit_own_stream, 1}, {grow_in_context, 1}, {trim, 1}, {read_stats, 1}},
         NULL},
    };
    return race_main(scenes, XS_COUNT_OF(scenes), argc, argv);
}
