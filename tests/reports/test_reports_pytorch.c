/*
 * PyTorch's own tests of its allocator, as behaviour: classic mode does the same to the byte of reserved
 * memory, and with extents memory is never above that.
 */
#include "report_fixture.h"

#define CLASSIC_CONF "ALLOC_CONF=expandable_segments:False"

/* ---- which segments which sizes make ---------------------------------------------------------- */

static void segments(unsigned count, size_t bytes, size_t expected_segments, size_t each)
{
    void *p[8];
    for (unsigned i = 0; i < count; i++)
        p[i] = xt_alloc(bytes);
    XT_EQUAL(xt_stats(0).segments.current, expected_segments);
    XT_EQUAL(xt_reserved(), expected_segments * each);
    xt_check();
    for (unsigned i = 0; i < count; i++)
        xt_free(p[i]);
    XT_OK(xseg_empty_cache(0));
    XT_EQUAL(xt_reserved(), 0);
}

static void size_table(void)
{
    segments(3, 1, 1, 2 * XS_MIB);
    segments(3, 512, 1, 2 * XS_MIB);
    segments(2, XS_MIB, 1, 2 * XS_MIB);
    segments(3, XS_MIB, 2, 2 * XS_MIB);
    segments(3, XS_MIB + 1, 1, 20 * XS_MIB);
    segments(3, XS_MIB + 512, 1, 20 * XS_MIB);
    segments(2, 10 * XS_MIB - 512, 1, 20 * XS_MIB);
    segments(3, 10 * XS_MIB - 512, 2, 20 * XS_MIB);
    segments(3, 10 * XS_MIB, 3, 10 * XS_MIB);
    segments(3, 10 * XS_MIB + 512, 3, 12 * XS_MIB);
    segments(3, 12 * XS_MIB, 3, 12 * XS_MIB);
    segments(1, 4 * XS_GIB + 1, 1, 4 * XS_GIB + 2 * XS_MIB);
}

static void large_segment_size(void)
{
    segments(3, XS_MIB + 512, 1, 32 * XS_MIB);
    segments(4, 9 * XS_MIB, 2, 32 * XS_MIB);
    segments(3, 12 * XS_MIB, 3, 12 * XS_MIB);
    segments(3, XS_MIB, 2, 2 * XS_MIB);
}

/* A remainder of up to 1 MiB stays with a large block; a small block is cut to 512 bytes. */
static void split_table(void)
{
    void *p = xt_alloc(19 * XS_MIB);
    XT_EQUAL(xt_block_bytes(p), 20 * XS_MIB);
    XT_EQUAL(xt_reserved(), 20 * XS_MIB);
    void *small = xt_alloc(100);
    XT_EQUAL(xt_block_bytes(small), 512);
    xt_free(p);
    xt_free(xt_alloc(20 * XS_MIB - 512));
    XT_EQUAL(xt_reserved(), 22 * XS_MIB);
    p = xt_alloc(9 * XS_MIB);
    XT_EQUAL(xt_reserved(), 22 * XS_MIB);
    void *q = xt_alloc(10 * XS_MIB); /* 11 MiB are left: the odd one stays with it */
    XT_EQUAL(xt_block_bytes(q), 11 * XS_MIB);
    XT_EQUAL(xt_reserved(), 22 * XS_MIB);
    xt_free(p);
    xt_free(q);
    xt_free(small);
}

/* ---- the developers' log ---------------------------------------------------------------------- */

/* All of one size freed, then as much in blocks of twice the size. */
static void eight_then_four(size_t expected)
{
    void *p[8];
    for (unsigned i = 0; i < 8; i++)
        p[i] = xt_alloc(16 * XS_MIB);
    for (unsigned i = 0; i < 8; i++)
        xt_free(p[i]);
    for (unsigned i = 0; i < 4; i++)
        p[i] = xt_alloc(32 * XS_MIB);
    XT_EQUAL(xt_reserved(), expected);
    for (unsigned i = 0; i < 4; i++)
        xt_free(p[i]);
}

static void eight_then_four_classic(void)
{
    eight_then_four(256 * XS_MIB);
}

static void eight_then_four_extents(void)
{
    eight_then_four(128 * XS_MIB);
}

static void two_then_half(size_t expected)
{
    void *p = xt_alloc(2 * XS_MIB), *q = xt_alloc(XS_MIB / 2);
    XT_EQUAL(xt_reserved(), expected);
    xt_free(p);
    xt_free(q);
}

static void two_then_half_classic(void)
{
    two_then_half(22 * XS_MIB);
}

static void two_then_half_extents(void)
{
    two_then_half(4 * XS_MIB);
}

/* Live blocks stand between the free ones. */
static void pinned_holes(size_t expected)
{
    void *p[4];
    for (unsigned i = 0; i < 4; i++)
        p[i] = xt_alloc(16 * XS_MIB);
    xt_free(p[0]);
    xt_free(p[2]);
    void *q = xt_alloc(32 * XS_MIB);
    XT_EQUAL(xt_reserved(), expected);
    xt_free(p[1]);
    xt_free(p[3]);
    xt_free(q);
}

static void pinned_holes_classic(void)
{
    pinned_holes(96 * XS_MIB);
}

static void pinned_holes_extents(void)
{
    pinned_holes(64 * XS_MIB); /* the free extents move */
}

/* ---- basics ----------------------------------------------------------------------------------- */

static void one_byte(void)
{
    const uint64_t before = xt_stats(0).allocated_bytes.current;
    void *p = xt_alloc(1);
    XT_CHECK(xt_stats(0).allocated_bytes.current > before);
    xt_free(p);
    XT_EQUAL(xt_stats(0).allocated_bytes.current, before);
}

static bool expects_extents;

static void absurd_sizes(void)
{
    void *p = NULL;
    must_not_fit((size_t)1 << 50);
    XT_EQUAL(xseg_malloc(&p, (size_t)1 << 60, 0, NULL), XSEG_ERROR_INVALID_VALUE);
    XT_EQUAL(xseg_malloc(&p, SIZE_MAX, 0, NULL), XSEG_ERROR_INVALID_VALUE);
    XT_CHECK(p == NULL);
    void *small = must_fit(XS_MIB);
    XT_EQUAL(xt_stats(0).extents.current > 0, expects_extents);
    xt_free(small);
}

static void absurd_sizes_extents(void)
{
    expects_extents = true;
    absurd_sizes();
}

static void half_twice(void)
{
    void *p = xt_alloc(600 * XS_MIB);
    must_not_fit(600 * XS_MIB);
    xt_free(p);
    void *small = xt_alloc(2000); /* so that what was freed is not simply found again */
    xt_free(must_fit(700 * XS_MIB));
    xt_free(small);
}

static void zero_bytes(void)
{
    const struct xseg_stats before = xt_stats(0);
    void *p = &p;
    XT_OK(xseg_malloc(&p, 0, 0, NULL));
    XT_CHECK(p == NULL);
    const struct xseg_stats after = xt_stats(0);
    XT_EQUAL(after.allocations.allocated, before.allocations.allocated);
}

/* Up and down; current values never above the peaks, and back where they were. */
static void script(void)
{
    void *p[35];
    xt_free(xt_alloc(1));
    const struct xseg_stats begin = xt_stats(0);
    for (size_t i = 0; i < 35; i++) {
        p[i] = xt_alloc((i * 7919 % 35 + 1) * 600000);
        xt_check();
        if (i % 3 == 2) {
            xt_free(p[i - 1]);
            p[i - 1] = NULL;
        }
    }
    XT_OK(xseg_reset_peaks(0));
    const struct xseg_stats s = xt_stats(0);
    XT_EQUAL(s.reserved_bytes.peak, s.reserved_bytes.current);
    for (unsigned i = 0; i < 35; i++)
        xt_free(p[i]);
    const struct xseg_stats end = xt_stats(0);
    XT_EQUAL(end.allocated_bytes.current, begin.allocated_bytes.current);
    XT_EQUAL(end.requested_bytes.current, begin.requested_bytes.current);
    XT_OK(xseg_empty_cache(0));
    XT_EQUAL(xt_reserved(), 0);
}

/* ---- both kinds of memory under one limit ----------------------------------------------------- */

static void switch_to(bool extents)
{
    XT_OK(xseg_configure(extents ? "expandable_segments:True" : "expandable_segments:False"));
}

static void mixed_under_a_limit(void)
{
    void *p[3];
    set_limit(120 * XS_MIB);
    for (unsigned i = 0; i < 3; i++) {
        switch_to(i % 2);
        p[i] = must_fit(40 * XS_MIB);
    }
    must_not_fit(40 * XS_MIB);
    for (unsigned i = 0; i < 3; i++)
        xt_free(p[i]);
    switch_to(false);
    xt_free(must_fit(120 * XS_MIB));
    switch_to(true);
    xt_free(must_fit(120 * XS_MIB));
}

/* Garbage collection meets free blocks in extents, and leaves them alone. */
static void collect_among_extents(void)
{
    set_limit(400 * XS_MIB);
    switch_to(true);
    xt_free(xt_alloc(64 * XS_MIB));
    XT_OK(xseg_configure("expandable_segments:False,garbage_collection_threshold:0.2"));
    for (unsigned i = 1; i < 8; i++) {
        xt_free(xt_alloc((20 + 2 * i) * XS_MIB));
        xt_check();
    }
    XT_AT_MOST(xt_reserved(), 64 * XS_MIB + 400 * XS_MIB / 5 + 34 * XS_MIB);
    XT_EQUAL(xt_live().handle_bytes, 64 * XS_MIB);
}

/* ---- garbage collection, classic ---------------------------------------------------------------- */

/* A search of the heap, and nothing else: `p` is the only free block that large, and fits exactly. */
static void *search(void *p)
{
    xt_free(p);
    void *again = xt_alloc(40 * XS_MIB);
    XT_CHECK(again == p);
    return again;
}

/* All that is at least of average age goes, also where less would be enough. */
static void collect_all_that_is_old(void)
{
    set_limit(200 * XS_MIB);
    void *p = xt_alloc(40 * XS_MIB);
    void *a = xt_alloc(30 * XS_MIB), *b = xt_alloc(32 * XS_MIB), *c = xt_alloc(34 * XS_MIB);
    xt_free(a);
    xt_free(b);
    p = search(p);
    xt_free(c);
    void *q = xt_alloc(44 * XS_MIB); /* ages 2, 2 and 1 */
    XT_EQUAL(xt_reserved(), (40 + 34 + 44) * XS_MIB);
    xt_check();
    xt_free(p);
    xt_free(q);
}

/* The average of two ages is between them. */
static void collect_the_older_of_two(void)
{
    set_limit(200 * XS_MIB);
    void *p = xt_alloc(40 * XS_MIB);
    void *a = xt_alloc(30 * XS_MIB), *b = xt_alloc(32 * XS_MIB);
    xt_free(a);
    p = search(p);
    xt_free(b);
    void *q = xt_alloc(44 * XS_MIB); /* ages 2 and 1 */
    XT_EQUAL(xt_reserved(), (40 + 32 + 44) * XS_MIB);
    xt_free(p);
    xt_free(q);
}

/* A request that finds nothing is one search, however often the ladder looks. */
static void collect_by_requests(void)
{
    set_limit(340 * XS_MIB);
    void *p = xt_alloc(40 * XS_MIB);
    void *a = xt_alloc(30 * XS_MIB), *b = xt_alloc(32 * XS_MIB), *c = xt_alloc(34 * XS_MIB);
    xt_free(a);
    void *grown = xt_alloc(60 * XS_MIB);
    xt_free(b);
    p = search(p);
    xt_free(c);
    void *q = xt_alloc(64 * XS_MIB); /* ages 3, 2 and 1 */
    XT_EQUAL(xt_reserved(), (40 + 34 + 60 + 64) * XS_MIB);
    xt_free(p);
    xt_free(q);
    xt_free(grown);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        REPORT("sizes make the same segments as in PyTorch", size_table, CLASSIC_CONF),
        REPORT("large_segment_size_mb changes the segment of 1 to 10 MiB", large_segment_size,
               "ALLOC_CONF=expandable_segments:False,large_segment_size_mb:32"),
        REPORT("blocks are split as in PyTorch", split_table, CLASSIC_CONF),
        REPORT("8 of 16 MiB, then 4 of 32: classic", eight_then_four_classic, CLASSIC_CONF),
        REPORT("8 of 16 MiB, then 4 of 32: extents move", eight_then_four_extents),
        REPORT("2 MiB, then half a MiB: classic", two_then_half_classic, CLASSIC_CONF),
        REPORT("2 MiB, then half a MiB: extents", two_then_half_extents),
        REPORT("holes between live blocks: classic", pinned_holes_classic, CLASSIC_CONF),
        REPORT("holes between live blocks: extents move", pinned_holes_extents),
        REPORT("one byte is counted and given back", one_byte),
        REPORT("one byte is counted and given back, classic", one_byte, CLASSIC_CONF),
        REPORT("absurd sizes are refused, and the next request is served", absurd_sizes_extents),
        REPORT("absurd sizes are refused, classic", absurd_sizes, CLASSIC_CONF),
        REPORT("more than half the device, twice", half_twice, "XSEG_SIM_CAPACITY=1G"),
        REPORT("more than half the device, twice, classic", half_twice, "XSEG_SIM_CAPACITY=1G",
               CLASSIC_CONF),
        REPORT("zero bytes change nothing", zero_bytes),
        REPORT("a script of 35 steps", script),
        REPORT("a script of 35 steps, classic", script, CLASSIC_CONF),
        REPORT("extents and classic segments under one limit", mixed_under_a_limit),
        REPORT("garbage collection takes all that is of average age", collect_all_that_is_old,
               "ALLOC_CONF=expandable_segments:False,garbage_collection_threshold:0.6"),
        REPORT("garbage collection takes the older of two", collect_the_older_of_two,
               "ALLOC_CONF=expandable_segments:False,garbage_collection_threshold:0.5"),
        REPORT("garbage collection counts ages in requests", collect_by_requests,
               "ALLOC_CONF=expandable_segments:False,garbage_collection_threshold:0.5"),
        REPORT("garbage collection among extents", collect_among_extents),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
