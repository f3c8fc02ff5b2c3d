/* What a stream has freed serves it at another address at once, however far behind the GPU is. */
#include "driver/driver_fault.h"
#include "two_streams.h"

#define PIECES 8
#define PIECE  (64 * XS_MIB)
#define WANTED (3 * PIECE)

static void *pieces[PIECES];

static void set(void *p, unsigned char value, size_t bytes)
{
    XT_CU(cu.cuMemsetD8Async((uintptr_t)p, value, bytes, s1));
}

/* Every other piece is freed, with its use still queued on s1: no free block is large enough for what is wanted. */
static void free_even_ones(void)
{
    two_streams();
    XT_OK(xseg_stream_register(0, s1));
    XT_OK(xseg_stream_register(0, s2));
    xt_free(xt_alloc_on(XS_MIB, s1)); /* so that an early fence of the stream has passed */
    XT_OK(xseg_empty_cache(0));
    XT_CU(sim.stream_manual(s1, true));
    for (unsigned i = 0; i < PIECES; i++) {
        pieces[i] = xt_alloc_on(PIECE, s1);
        set(pieces[i], (unsigned char)i, PIECE);
    }
    for (unsigned i = 0; i < PIECES; i += 2)
        xt_free(pieces[i]);
    xt_check();
}

static void end(void)
{
    xt_check();
    XT_CU(cu.cuCtxSynchronize());
    for (unsigned i = 1; i < PIECES; i += 2)
        xt_free(pieces[i]);
    XT_OK(xseg_empty_cache(0));
    XT_EQUAL(xt_reserved(), 0);
    XT_EQUAL(xt_live().mappings, 0);
    destroy_streams();
}

static unsigned char first_byte(const void *p)
{
    unsigned char byte = 0;
    XT_CU(cu.cuMemcpyDtoH_v2(&byte, (uintptr_t)p, 1));
    return byte;
}

static void no_wait_and_no_new_memory(void)
{
    free_even_ones();
    size_t reserved = xt_reserved(), mappings = xt_live().mappings;
    void *p = xt_alloc_on(WANTED, s1);
    XT_EQUAL(xt_reserved(), reserved);
    XT_EQUAL(xt_stats(0).rung_wait, 0);
    XT_CHECK(sim.queued() == PIECES);
    XT_CHECK(xt_stats(0).extents_aliased > 0);
    XT_EQUAL(xt_live().mappings, mappings + xt_stats(0).extents_aliased);
    xt_check();
    set(p, 77, WANTED);
    XT_CU(cu.cuStreamSynchronize(s1));
    XT_EQUAL(first_byte(p), 77);
    XT_EQUAL(first_byte((char *)p + WANTED - 1), 77);
    for (unsigned i = 1; i < PIECES; i += 2)
        XT_EQUAL(first_byte(pieces[i]), i);
    xt_free(p);
    end();
}

/* The second mapping goes when the next growth finds that the GPU has passed, and not before. */
static void old_places_go_later(void)
{
    free_even_ones();
    size_t mappings = xt_live().mappings;
    void *p = xt_alloc_on(WANTED, s1), *q = xt_alloc_on(2 * WANTED, s1);
    struct xseg_stats then = xt_stats(0);
    XT_EQUAL(xt_live().mappings, then.extents.current + then.extents_aliased);
    XT_CHECK(xt_live().mappings > mappings);
    XT_CU(cu.cuStreamSynchronize(s1));
    void *r = xt_alloc_on(2 * WANTED, s1);
    XT_EQUAL(xt_live().mappings, xt_stats(0).extents.current);
    XT_EQUAL(xt_stats(0).extents_aliased, then.extents_aliased);
    xt_free(p);
    xt_free(q);
    xt_free(r);
    end();
}

/* Aliases of aliases: the same memory at a third and a fourth address, all of it still queued. */
static void again_and_again(void)
{
    free_even_ones();
    size_t reserved = xt_reserved();
    for (unsigned i = 0; i < 10; i++) {
        void *p = xt_alloc_on(WANTED + i * 2 * XS_MIB - 20 * XS_MIB, s1);
        void *gap = xt_alloc_on(XS_MIB, s1);
        set(p, (unsigned char)(100 + i), XS_MIB);
        xt_free(p);
        XT_AT_MOST(xt_reserved(), reserved + 8 * XS_MIB);
        xt_check();
        xt_free(gap);
    }
    XT_EQUAL(xt_stats(0).rung_wait, 0);
    end();
}

/* Another stream does not come after the one that freed it: it waits, or gets new memory. */
static void not_for_another_stream(void)
{
    free_even_ones();
    void *p = xt_alloc_on(WANTED, s2);
    XT_EQUAL(xt_stats(0).extents_aliased, 0);
    xt_free(p);
    end();
}

/* What is left over of an aliased extent is the stream's own, too. */
static void the_rest_is_not_idle(void)
{
    free_even_ones();
    void *p = xt_alloc_on(WANTED - XS_MIB, s1);
    XT_CHECK(xt_stats(0).extents_aliased > 0);
    XT_OK(xseg_set_limit(0, xt_reserved()));
    XT_OK(xseg_configure("cross_stream_wait:False"));
    size_t queued = sim.queued();
    void *q = xt_alloc_on(64 * XS_KIB, s2);
    XT_CHECK(sim.queued() < queued);
    xt_free(p);
    xt_free(q);
    end();
}

/* A graph may be launched on any stream. */
static void not_within_a_capture(void)
{
    xs_cu_graph graph;
    free_even_ones();
    XT_CU(cu.cuStreamBeginCapture_v2(s1, XS_CU_CAPTURE_MODE_RELAXED));
    void *p = xt_alloc_on(WANTED, s1);
    XT_EQUAL(xt_stats(0).extents_aliased, 0);
    XT_CU(cu.cuStreamEndCapture(s1, &graph));
    XT_CU(cu.cuGraphDestroy(graph));
    xt_free(p);
    end();
}

/* Nothing goes back to the driver that is still mapped for the GPU; then all of it does. */
static void not_given_back_in_use(void)
{
    free_even_ones();
    void *p = xt_alloc_on(WANTED, s1);
    xt_free(p);
    XT_OK(xseg_empty_cache(0));
    xt_check();
    XT_CHECK(sim.queued() == PIECES);
    size_t held = xt_reserved();
    XT_CHECK(held >= PIECES * PIECE);
    XT_CU(cu.cuStreamSynchronize(s1));
    XT_OK(xseg_empty_cache(0));
    XT_EQUAL(xt_reserved(), PIECES / 2 * PIECE);
    end();
}

static void switched_off(void)
{
    free_even_ones();
    sim.reach_after(5);
    size_t reserved = xt_reserved();
    void *p = xt_alloc_on(WANTED, s1);
    XT_EQUAL(xt_stats(0).extents_aliased, 0);
    XT_EQUAL(xt_reserved(), reserved);
    XT_EQUAL(xt_stats(0).rung_wait, 1);
    xt_free(p);
    end();
}

/* A driver that maps no handle twice: it is asked once, and the request is served as if it were switched off. */
static void refused_by_the_driver(void)
{
    free_even_ones();
    sim.reach_after(5);
    const struct xs_fault fails = {XS_CALL_mem_map, 1, 1, 0, XS_CUDA_ERROR_INVALID_VALUE, 0};
    XT_CHECK(xs_fault_add(&fails));
    void *p = xt_alloc_on(WANTED, s1);
    XT_EQUAL(xs_fault_hits(), 1);
    xs_fault_clear();
    XT_EQUAL(xt_stats(0).extents_aliased, 0);
    XT_EQUAL(xt_stats(0).rung_wait, 1);
    xt_free(p);
    end();
}

/* What was mapped twice goes back where the other kind of memory wants the room. */
static void old_places_make_room(void)
{
    free_even_ones();
    void *p = xt_alloc_on(WANTED, s1);
    XT_CHECK(xt_stats(0).extents_aliased > 0);
    xt_free(p);
    XT_CU(cu.cuStreamSynchronize(s1));
    XT_OK(xseg_configure("expandable_segments:False"));
    XT_OK(xseg_set_limit(0, xt_reserved()));
    p = xt_alloc_on(PIECES / 2 * PIECE, s1);
    XT_EQUAL(xt_stats(0).segments.current, 2);
    xt_free(p);
    end();
}

/* Where no further addresses can be had, those of old places are waited for. */
static void old_places_when_addresses_are_short(void)
{
    two_streams();
    XT_CU(sim.stream_manual(s1, true));
    void *a = xt_alloc_on(2 * PIECE, s1), *b = xt_alloc_on(2 * PIECE, s1);
    void *c = xt_alloc_on(2 * PIECE, s1), *d = xt_alloc_on(PIECE, s1);
    set(a, 1, 2 * PIECE);
    xt_free(a);
    xt_free(c);
    void *twice = xt_alloc_on(4 * PIECE, s1);
    XT_CHECK(xt_stats(0).extents_aliased > 0);
    xt_free(b);
    const struct xs_fault fails = {XS_CALL_mem_reserve,         1, UINT64_MAX, 0,
                                   XS_CUDA_ERROR_OUT_OF_MEMORY, 0};
    XT_CHECK(xs_fault_add(&fails));
    void *p = xt_alloc_on(5 * PIECE, s1); /* where a, b and c were */
    XT_CHECK(xs_fault_hits() > 0);
    xs_fault_clear();
    XT_EQUAL(sim.queued(), 0);
    XT_EQUAL(xt_stats(0).segments.current, 1);
    xt_free(p);
    xt_free(d);
    xt_free(twice);
    xt_check();
    destroy_streams();
}

/* What another stream is at may wait for what this program does next. So nobody waits for ever for memory that he can do
 * without, nor again and again. */
static void a_wait_comes_to_an_end(void)
{
    void *p[8];
    free_even_ones();
    size_t reserved = xt_reserved(), slack = 32 * XS_MIB;
    p[0] = xt_alloc_on(2 * slack, s2);
    XT_EQUAL(xt_stats(0).rung_wait, 1);
    XT_EQUAL(xt_reserved(), reserved + 2 * slack);
    for (unsigned i = 1; i < XS_COUNT_OF(p); i++)
        p[i] = xt_alloc_on(slack / 4, s2);
    XT_AT_MOST(xt_stats(0).rung_wait, 3);
    XT_CHECK(sim.queued() == PIECES);
    for (unsigned i = 0; i < XS_COUNT_OF(p); i++)
        xt_free(p[i]);
    end();
}

/* Memory that suffices needs no fences, however much of it changes hands. */
static void records_none_in_a_steady_state(void)
{
    two_streams();
    XT_OK(xseg_stream_register(0, s1));
    xt_free(xt_alloc_on(256 * XS_MIB, s1));
    uint64_t before = sim.calls("cuEventRecord");
    for (unsigned i = 0; i < 1000; i++)
        xt_free(xt_alloc_on((1 + i % 50) * XS_MIB, s1));
    XT_AT_MOST(sim.calls("cuEventRecord"), before + 64);
    before = sim.calls("cuEventRecord");
    for (unsigned i = 0; i < 1000; i++)
        xt_free(xt_alloc_on((1 + i % 50) * XS_MIB, s1));
    XT_EQUAL(sim.calls("cuEventRecord"), before);
    destroy_streams();
}

/* A program that counts its peaks anew for each step is not made to wait for that. */
static void peaks_are_only_counted(void)
{
    free_even_ones();
    for (unsigned i = 1; i < PIECES; i += 2)
        xt_free(pieces[i]);
    XT_OK(xseg_reset_peaks(0));
    void *p = xt_alloc_on(4 * XS_MIB, s2);
    XT_EQUAL(xt_stats(0).rung_wait, 0);
    XT_AT_MOST(xt_reserved(), PIECES * PIECE + 4 * XS_MIB);
    memset(pieces, 0, sizeof(pieces));
    xt_free(p);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        REPORT("alias: neither a wait nor new memory", no_wait_and_no_new_memory),
        REPORT("alias: old places go once the GPU has passed", old_places_go_later),
        REPORT("alias: the same memory at many addresses", again_and_again),
        REPORT("alias: not for another stream", not_for_another_stream),
        REPORT("alias: the rest of an extent is not idle", the_rest_is_not_idle),
        REPORT("alias: not within a capture", not_within_a_capture),
        REPORT("alias: nothing that is in use goes back", not_given_back_in_use),
        REPORT("alias: switched off", switched_off, "ALLOC_CONF=alias:False"),
        REPORT("alias: refused by the driver", refused_by_the_driver),
        REPORT("behind: old places make room", old_places_make_room),
        REPORT("behind: old places when addresses are short", old_places_when_addresses_are_short,
               "ALLOC_CONF=va_reserve:768M"),
        REPORT("behind: a wait comes to an end", a_wait_comes_to_an_end),
        REPORT("behind: where memory suffices no event is recorded",
               records_none_in_a_steady_state),
        REPORT("behind: nobody waits because peaks are reset", peaks_are_only_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
