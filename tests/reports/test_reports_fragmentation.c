/* Reports R01 to R17: memory that is there and cannot be used. */
#include "report_fixture.h"

#define COUNT 250

/* ---- R01: one big buffer, cut up for many blocks of which some survive ------------------------ */

static void *part[COUNT];

/* Every nth of the blocks survives, or every nth is freed. */
static void cut_up(bool frees, unsigned nth)
{
    set_limit(8 * XS_GIB);
    xt_free(xt_alloc(5 * XS_GIB));
    for (unsigned i = 0; i < COUNT; i++)
        part[i] = xt_alloc(16 * XS_MIB + i % 9 * (XS_MIB / 4));
    for (unsigned i = 0; i < COUNT; i++) {
        if ((i % nth == 0) != frees)
            continue;
        xt_free(part[i]);
        part[i] = NULL;
    }
}

static size_t survivors(void)
{
    size_t n = 0;
    for (unsigned i = 0; i < COUNT; i++)
        n += part[i] != NULL;
    return n;
}

static void free_survivors(void)
{
    for (unsigned i = 0; i < COUNT; i++)
        xt_free(part[i]);
}

static void r01_extents(void)
{
    cut_up(false, 10);
    for (unsigned i = 0; i < COUNT; i++) { /* cut_up() has freed every tenth: free the others */
        if (i % 10 == 5)
            continue;
        xt_free(part[i]);
        part[i] = NULL;
    }
    const size_t extent = 128 * XS_MIB;
    xt_free(must_fit(5 * XS_GIB));
    XT_AT_MOST(xt_reserved(), 5 * XS_GIB + 2 * extent * survivors());
    XT_AT_MOST(xt_reserved(), 8 * XS_GIB);
    free_survivors();
}

static void r01_classic(void)
{
    cut_up(false, 10);
    must_not_fit(5 * XS_GIB);
    text_says("fragmentation");
    text_says("cached");
    free_survivors();
}

static void r01_hard_small_extents(void)
{
    cut_up(true, 2);
    xt_free(must_fit(5 * XS_GIB));
    free_survivors();
}

static void r01_hard_large_extents(void)
{
    cut_up(true, 2);
    must_not_fit(5 * XS_GIB);
    text_says("pinned by live blocks");
    XT_CHECK(xt_stats(0).frag_pinned_bytes > XS_GIB);
    free_survivors();
}

/* What was taken for good came in large extents. It was not for good, and it is wanted elsewhere. Returns how many extents
 * there are more then. */
static size_t move_weights(void)
{
    void *weights = xt_alloc(128 * XS_MIB), *border = xt_alloc(2 * XS_MIB);
    xt_free(xt_alloc(3 * XS_GIB)); /* it does not only accumulate, nor is it small */
    void *rest = xt_alloc(3 * XS_GIB - 16 * XS_MIB);
    xt_free(weights);
    const size_t before = xt_stats(0).extents.current, reserved = xt_reserved();
    void *larger = xt_alloc(160 * XS_MIB);
    XT_AT_MOST(xt_reserved(), reserved + 32 * XS_MIB);
    const size_t more = xt_stats(0).extents.current - before;
    void *const all[] = {larger, rest, border};
    for (size_t i = 0; i < XS_COUNT_OF(all); i++)
        xt_free(all[i]);
    return more;
}

static void r01_made_small(void)
{
    XT_AT_MOST(128 / 8 - 2, move_weights());
}

static void r01_not_smaller_than_wanted(void)
{
    XT_AT_MOST(move_weights(), 160 / 32 - 2);
}

/* ---- R02: A, B, A ----------------------------------------------------------------------------- */

static void r02(void)
{
    set_limit(8 * XS_GIB);
    void *out1 = xt_alloc(XS_GIB);
    xt_free(xt_alloc(4 * XS_GIB));
    void *out_b = must_fit(XS_GIB);
    void *out2 = must_fit(XS_GIB);
    void *t2 = must_fit(4 * XS_GIB);
    XT_AT_MOST(xt_stats(0).reserved_bytes.peak, 7 * XS_GIB + 128 * XS_MIB);
    void *const all[] = {out1, out_b, out2, t2};
    for (unsigned i = 0; i < XS_COUNT_OF(all); i++)
        xt_free(all[i]);
}

static void r02_classic(void)
{
    r02();
    XT_EQUAL(xt_stats(0).reserved_bytes.peak, 7 * XS_GIB);
}

/* ---- R04: each buffer is larger than any before ----------------------------------------------- */

#define STEPS 400

static void grow_step_by_step(void)
{
    void *buffer = xt_alloc(100 * XS_MIB);
    for (size_t i = 1; i <= STEPS; i++) {
        void *next = xt_alloc((100 + i) * XS_MIB);
        xt_free(buffer);
        buffer = next;
    }
    xt_free(buffer);
    xt_check();
}

static void r04_unlimited(void)
{
    const size_t last = (100 + STEPS) * XS_MIB;
    grow_step_by_step();
    XT_AT_MOST(xt_stats(0).reserved_bytes.peak, 3 * last);
    XT_AT_MOST(xt_driver_ops(), 8 * (3 * last / (2 * XS_MIB)));
}

static void r04_limited(void)
{
    set_limit(11 * XS_GIB / 10);
    grow_step_by_step();
}

/* ---- R05: many blocks of little more than 1 MiB ----------------------------------------------- */

#define SWARM 2000

static size_t driver_free(void)
{
    size_t free_bytes, total;
    XT_CU(cu.cuMemGetInfo_v2(&free_bytes, &total));
    return free_bytes;
}

static void swarm(double most)
{
    static void *p[SWARM];
    const size_t bytes = XS_MIB + 512;
    xt_make_context(0);
    const size_t before = driver_free();
    for (unsigned i = 0; i < SWARM; i++) {
        p[i] = xt_alloc(bytes);
        XT_EQUAL(before - driver_free(), xt_reserved());
    }
    XT_AT_MOST(xt_reserved(), (size_t)(most * SWARM * (double)bytes));
    for (unsigned i = 0; i < SWARM; i++)
        xt_free(p[i]);
}

static void r05_extents(void)
{
    swarm(1.03);
}

static void r05_classic(void)
{
    swarm(1.06);
}

/* ---- R06: a loop of two buffers settles ------------------------------------------------------- */

static void loop_settles(size_t bytes)
{
    uint64_t ops = 0;
    for (unsigned i = 0; i < 10; i++) {
        void *p = xt_alloc(bytes), *q = xt_alloc(bytes);
        xt_free(q);
        xt_free(p);
        if (i == 0)
            ops = xt_driver_ops();
        XT_EQUAL(xt_driver_ops(), ops);
    }
}

static void r06_small(void)
{
    loop_settles(1032);
}

static void r06_large(void)
{
    loop_settles(24 * XS_MIB + 8);
}

/* ---- R07: emptying a cache that is not there -------------------------------------------------- */

static void empty_ten_times(void)
{
    for (unsigned i = 0; i < 10; i++) {
        XT_OK(xseg_empty_cache(XSEG_CURRENT_DEVICE));
        XT_OK(xseg_empty_cache(0));
    }
}

static void r07(void)
{
    empty_ten_times();
    XT_EQUAL(xt_live().contexts, 0);
    void *p = xt_alloc(30 * XS_MIB);
    const uint64_t ops = xt_driver_ops();
    empty_ten_times(); /* all is in use, but for what was mapped beyond the request */
    XT_AT_MOST(xt_driver_ops(), ops + 2);
    xt_free(p);
    XT_OK(xseg_empty_cache(0));
    XT_EQUAL(xt_reserved(), 0);
    const uint64_t after = xt_driver_ops();
    empty_ten_times();
    XT_EQUAL(xt_driver_ops(), after);
}

/* ---- R11: a limit is usable to the granule ---------------------------------------------------- */

static size_t fill_with(void **p, size_t most, size_t bytes)
{
    size_t n = 0;
    while (n < most && (p[n] = xt_try(bytes, NULL)))
        n++;
    xt_check();
    return n;
}

static void r11_extents(void)
{
    void *p[40];
    set_limit(64 * XS_MIB);
    XT_EQUAL(fill_with(p, 40, 8 * XS_MIB), 8);
    must_not_fit(8 * XS_MIB);
    xt_free(p[3]);
    p[3] = must_fit(8 * XS_MIB);
    for (unsigned i = 0; i < 8; i++)
        xt_free(p[i]);
}

static void r11_odd_limit(void)
{
    void *p[40];
    set_limit(1000192 + 63 * XS_MIB);
    XT_EQUAL(fill_with(p, 40, 2 * XS_MIB), 31);
    XT_EQUAL(xt_reserved(), 62 * XS_MIB);
    for (unsigned i = 0; i < 31; i++)
        xt_free(p[i]);
}

static void r11_classic(void)
{
    void *p[40];
    set_limit(64 * XS_MIB);
    XT_EQUAL(fill_with(p, 40, 8 * XS_MIB), 6);
    for (unsigned i = 0; i < 6; i++)
        xt_free(p[i]);
}

/* ---- R12, R13: what is cached is given up before a request is refused ------------------------- */

static void r12(void)
{
    set_limit(XS_GIB);
    xt_free(xt_alloc(512 * XS_MIB));
    xt_free(must_fit(768 * XS_MIB));
    const struct xseg_stats s = xt_stats(0);
    XT_AT_MOST(s.reserved_bytes.peak, XS_GIB);
    XT_EQUAL(s.out_of_memory, 0);
}

static void r12_classic(void)
{
    r12();
    XT_EQUAL(xt_stats(0).alloc_retries, 1);
}

static void r13(void)
{
    const size_t tenth = XS_GIB / 10;
    set_limit(XS_GIB);
    void *kept = xt_alloc(3 * tenth);
    xt_free(xt_alloc(3 * tenth));
    void *p = must_fit(6 * tenth);
    xt_free(kept);
    xt_free(p);
    xt_free(must_fit(9 * tenth));
}

/* A hole of 20 MiB between live blocks, two free extents of 16 MiB elsewhere, and no more to be had. */
static void r13_no_extent_fits(void)
{
    XT_OK(xseg_configure("extent_max:2M"));
    void *hole = xt_alloc(20 * XS_MIB), *wall = xt_alloc(2 * XS_MIB), *p[4];
    XT_OK(xseg_configure("extent_max:16M,extent_min:16M"));
    for (unsigned i = 0; i < 4; i++)
        p[i] = xt_alloc(16 * XS_MIB);
    xt_free(hole);
    XT_OK(xseg_empty_cache(0));
    xt_free(p[0]);
    xt_free(p[2]);
    set_limit(xt_reserved());
    xt_free(must_fit(20 * XS_MIB));
    xt_free(p[1]);
    xt_free(p[3]);
    xt_free(wall);
}

/* ---- R16: blocks that are never split --------------------------------------------------------- */

static void r16_default_slack(void)
{
    xt_free(xt_alloc(1024 * XS_MIB));
    void *q = xt_alloc(500 * XS_MIB);
    XT_EQUAL(xt_reserved(), 1524 * XS_MIB);
    void *r = xt_alloc(1010 * XS_MIB);
    XT_EQUAL(xt_reserved(), 1524 * XS_MIB);
    XT_EQUAL(xt_block_bytes(r), 1024 * XS_MIB);
    xt_free(q);
    xt_free(r);
}

static void r16_wide_slack(void)
{
    xt_free(xt_alloc(1024 * XS_MIB));
    void *q = xt_alloc(500 * XS_MIB);
    XT_EQUAL(xt_reserved(), 1024 * XS_MIB);
    XT_EQUAL(xt_block_bytes(q), 1024 * XS_MIB);
    xt_free(q);
}

/* Of the cached 700, 900 and 1100 MiB, the smallest that suffices for 800 goes. */
static void r16_full_driver(void)
{
    void *p[] = {xt_alloc(700 * XS_MIB), xt_alloc(900 * XS_MIB), xt_alloc(1100 * XS_MIB)};
    for (unsigned i = 0; i < 3; i++)
        xt_free(p[i]);
    xt_free(must_fit(800 * XS_MIB));
    XT_EQUAL(xt_reserved(), (700 + 1100 + 800) * XS_MIB);
}

/* ---- R17: a shortage that is no fragmentation ------------------------------------------------- */

static void r17(void)
{
    set_limit(XS_GIB);
    void *p = xt_alloc(960 * XS_MIB);
    must_not_fit(128 * XS_MIB);
    text_says("not fragmentation");
    text_says("960.00 MiB live");
    text_says("128.00 MiB wanted");
    text_says("limit 1.00 GiB");
    text_does_not_say("expandable_segments");
    text_does_not_say("max_split_size");
    xt_free(p);
}

/* ---- what cannot be moved any more ------------------------------------------------------------- */

/* Of many blocks every other one is freed, and none of the gaps serves: once so much is lost, no extent is large enough to be pinned
 * with a gap of its own, and before that they are, for the sake of their number. */
static void small_extents_once_fragmented(void)
{
    static void *p[400];
    xt_make_context(0);
    for (unsigned i = 0; i < XS_COUNT_OF(p); i++)
        p[i] = xt_alloc(5 * XS_MIB);
    for (unsigned i = 0; i < XS_COUNT_OF(p); i += 2)
        xt_free(p[i]);
    unsigned in_large = 0, in_small = 0;
    for (unsigned i = 0; i < 8; i++) {
        struct xseg_stats before = xt_stats(0), after;
        xt_alloc(256 * XS_MIB);
        after = xt_stats(0);
        uint64_t bytes = after.reserved_bytes.current - before.reserved_bytes.current;
        uint64_t granules = (after.driver_create - before.driver_create) * 2 * XS_MIB;
        in_large += bytes > granules;
        in_small += bytes && bytes == granules;
        XT_CHECK(!in_small || bytes == granules);
    }
    XT_CHECK(in_large > 0);
    XT_CHECK(in_small > 0);
    xt_check();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        REPORT("R01: survivors in a big buffer do not keep it from coming back", r01_extents),
        REPORT("R01: classic segments are worn down, and the report says so", r01_classic, CLASSIC),
        REPORT("R01 hard: with small extents the holes are used", r01_hard_small_extents,
               "ALLOC_CONF=extent_max:2M"),
        REPORT("R01 hard: with large extents the report names pinned memory",
               r01_hard_large_extents, "ALLOC_CONF=extent_min:32M,extent_max:32M"),
        REPORT("R01: large extents are made small when they are wanted elsewhere", r01_made_small),
        REPORT("R01: but not smaller than extent_min", r01_not_smaller_than_wanted,
               "ALLOC_CONF=extent_min:32M"),
        REPORT("R02: A, B, A fits again", r02),
        REPORT("R02: A, B, A fits again in classic mode with max_split_size_mb", r02_classic,
               "ALLOC_CONF=expandable_segments:False,max_split_size_mb:512"),
        REPORT("R04: a growing buffer leaves no garbage", r04_unlimited),
        REPORT("R04: a growing buffer fits in twice its size", r04_limited),
        REPORT("R05: blocks above 1 MiB waste nothing, and the driver agrees", r05_extents),
        REPORT("R05: classic: 19 blocks to a segment", r05_classic, CLASSIC),
        REPORT("R06: small buffers settle", r06_small),
        REPORT("R06: large buffers settle", r06_large),
        REPORT("R06: small buffers settle in classic mode", r06_small, CLASSIC),
        REPORT("R06: large buffers settle in spite of garbage collection", r06_large,
               "ALLOC_CONF=expandable_segments:False,garbage_collection_threshold:0.01",
               "XSEG_SIM_CAPACITY=4G"),
        REPORT("R06: large buffers settle with extents and garbage collection", r06_large,
               "ALLOC_CONF=garbage_collection_threshold:0.01", "XSEG_SIM_CAPACITY=4G"),
        REPORT("R07: emptying nothing makes no context and does nothing", r07),
        REPORT("R07: the same in classic mode", r07, CLASSIC),
        REPORT("R11: a limit of 64 MiB holds eight blocks of 8", r11_extents),
        REPORT("R11: an odd limit is usable to the granule", r11_odd_limit),
        REPORT("R11: a limit of 64 MiB holds six blocks of 8 in classic segments", r11_classic,
               CLASSIC),
        REPORT("R12: cached memory is reused before the limit refuses", r12),
        REPORT("R12: classic: the release is counted as one retry", r12_classic, CLASSIC),
        REPORT("R13: free chunks serve a larger request", r13),
        REPORT("R13: the same in classic mode", r13, CLASSIC),
        REPORT("R13: free extents serve although none fits the hole", r13_no_extent_fits),
        REPORT("R16: an oversize block serves only what is nearly as large", r16_default_slack,
               "ALLOC_CONF=expandable_segments:False,max_split_size_mb:400"),
        REPORT("R16: max_non_split_rounding_mb widens that", r16_wide_slack,
               "ALLOC_CONF=expandable_segments:False,max_split_size_mb:400,"
               "max_non_split_rounding_mb:1024"),
        REPORT("R16: on a full device the smallest block that suffices goes", r16_full_driver,
               "ALLOC_CONF=expandable_segments:False,max_split_size_mb:400",
               "XSEG_SIM_CAPACITY=3000M"),
        REPORT("fragmented memory grows by the smallest extents", small_extents_once_fragmented),
        REPORT("R17: a true shortage is called one", r17),
        REPORT("R17: the same in classic mode", r17, CLASSIC),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
