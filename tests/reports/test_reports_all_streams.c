/* Memory that no single stream orders, other devices' access to it, and what an address lies in: what the preload
 * needs of the core. */
#include "core/inside.h"
#include "core/peers.h"
#include "driver/driver_fault.h"
#include "report_fixture.h"

static void *get_any(size_t bytes)
{
    return xt_alloc_on(bytes, XS_STREAM_ANY);
}

static void put_all(void *p)
{
    XT_OK(xseg_free_async(p, XS_STREAM_ALL));
}

static xs_cu_stream busy_stream(void)
{
    xs_cu_stream s = xt_new_stream();
    XT_CU(sim.stream_manual(s, true));
    return s;
}

/* ---- all streams ------------------------------------------------------------------------------ */

static void all_streams_have_to_pass(void)
{
    xt_make_context(0);
    xs_cu_stream s = busy_stream(), t = busy_stream();
    void *p = get_any(8 * XS_MIB);
    XT_CU(sim.launch(s, (uintptr_t)p, 4096));
    XT_CU(sim.launch(t, (uintptr_t)p, 4096));
    put_all(p);
    void *q = get_any(8 * XS_MIB);
    XT_CHECK(p != q);
    XT_EQUAL(sim.stream_advance(s, SIZE_MAX), 1);
    void *r = get_any(8 * XS_MIB);
    XT_CHECK(p != r);
    XT_EQUAL(sim.stream_advance(t, SIZE_MAX), 1);
    xt_check();
    put_all(q);
    put_all(r);
    p = get_any(24 * XS_MIB); /* all of it has passed, and joined */
    XT_EQUAL(xt_reserved(), 24 * XS_MIB);
    put_all(p);
    XT_CU(cu.cuStreamDestroy_v2(s));
    XT_CU(cu.cuStreamDestroy_v2(t));
    xt_check();
}

/* A plain free of such memory is one for all streams, and a thread's cache does not take it. */
static void plain_free_is_for_all_streams(void)
{
    xt_make_context(0);
    xs_cu_stream s = busy_stream();
    void *p = get_any(XS_MIB);
    XT_CU(sim.launch(s, (uintptr_t)p, 4096));
    xt_free(p);
    XT_CHECK(get_any(XS_MIB) != p);
    XT_CHECK(xt_alloc(XS_MIB) != p);
    XT_EQUAL(sim.stream_advance(s, SIZE_MAX), 1);
    XT_CU(cu.cuStreamDestroy_v2(s));
    xt_check();
}

/* Idle neighbours stay usable while freed memory waits. */
static void waiting_memory_takes_no_neighbours(void)
{
    xt_make_context(0);
    xs_cu_stream s = busy_stream();
    XT_CU(sim.launch(s, 0, 0));
    for (unsigned i = 0; i < 32; i++)
        put_all(get_any(XS_MIB / 16));
    XT_EQUAL(xt_reserved(), 2 * XS_MIB);
    xt_check();
    XT_EQUAL(sim.stream_advance(s, SIZE_MAX), 1);
    for (unsigned i = 0; i < 100; i++)
        put_all(get_any(XS_MIB / 16));
    XT_EQUAL(xt_reserved(), 2 * XS_MIB);
    XT_CU(cu.cuStreamDestroy_v2(s));
    xt_check();
}

/* No fill has a place in time there. */
static void poison_leaves_it_alone(void)
{
    xt_make_context(0);
    void *p = get_any(XS_MIB);
    const uint64_t before = sim.calls("cuMemsetD8Async");
    put_all(p);
    xt_free(get_any(XS_MIB));
    XT_EQUAL(sim.calls("cuMemsetD8Async"), before);
    xt_check();
}

/* ---- a device's memory for another ------------------------------------------------------------ */

static struct xs_device *first_device(void)
{
    return xs_runtime_open_device(0);
}

static unsigned long long access_of(void *p, int device)
{
    const struct xs_cu_location where = {XS_CU_LOCATION_DEVICE, device};
    unsigned long long flags = 99;
    XT_CU(cu.cuMemGetAccess(&flags, &where, (uintptr_t)p));
    return flags;
}

static void peers_may_access_all_of_it(void)
{
    xt_make_context(0);
    void *before = xt_alloc(40 * XS_MIB);
    XT_EQUAL(access_of(before, 1), XS_CU_ACCESS_NONE);
    XT_OK(xs_peers_set(first_device(), 1, true));
    void *after = xt_alloc(200 * XS_MIB);
    XT_EQUAL(access_of(before, 1), XS_CU_ACCESS_READWRITE);
    XT_EQUAL(access_of(after, 1), XS_CU_ACCESS_READWRITE);
    XT_EQUAL(access_of(after, 0), XS_CU_ACCESS_READWRITE);
    XT_OK(xs_peers_set(first_device(), 1, false));
    XT_EQUAL(access_of(before, 1), XS_CU_ACCESS_NONE);
    XT_EQUAL(access_of(after, 1), XS_CU_ACCESS_NONE);
    XT_EQUAL(xs_peers_set(first_device(), 64, true), XSEG_ERROR_INVALID_VALUE);
    xt_check();
    xt_free(before);
    xt_free(after);
}

/* Each call of the many fails in turn: either all memory is open, or none. */
static void peers_are_all_or_nothing(void)
{
    xt_make_context(0);
    void *p = xt_alloc(40 * XS_MIB), *q = xt_alloc(200 * XS_MIB);
    enum xseg_result e = XSEG_ERROR_DRIVER;
    unsigned nth = 1;
    for (; e && nth < 100; nth++) {
        xs_fault_clear();
        XT_CHECK(xs_fault_add(&(struct xs_fault){.call = XS_CALL_mem_set_access,
                                                 .nth = nth,
                                                 .repeat = 1,
                                                 .code = XS_CUDA_ERROR_UNKNOWN}));
        e = xs_peers_set(first_device(), 1, true);
        XT_EQUAL(access_of(p, 1), e ? XS_CU_ACCESS_NONE : XS_CU_ACCESS_READWRITE);
        XT_EQUAL(access_of(q, 1), e ? XS_CU_ACCESS_NONE : XS_CU_ACCESS_READWRITE);
        XT_EQUAL(first_device()->caps.peers, e ? 0 : 2);
    }
    xs_fault_clear();
    XT_CHECK(nth > 3 && !e);
    xt_free(p);
    xt_free(q);
    xt_check();
}

/* ---- addresses -------------------------------------------------------------------------------- */

static void an_address_lies_in_its_block(void)
{
    xt_make_context(0);
    char *p = xt_alloc(1000), *q = xt_alloc(100 * XS_MIB);
    XT_EQUAL(xs_inside_find((uintptr_t)p + 999).va, (uintptr_t)p);
    XT_EQUAL(xs_inside_find((uintptr_t)p).requested, 1000);
    XT_EQUAL(xs_inside_find((uintptr_t)q + 99 * XS_MIB).va, (uintptr_t)q);
    XT_CHECK(!xs_inside_find((uintptr_t)&p).dev);
    xt_free(q);
    XT_CHECK(xs_inside_find((uintptr_t)q).dev == first_device());
    XT_EQUAL(xs_inside_find((uintptr_t)q).requested, 0);
    xt_free(p);
}

static void a_block_is_backed_from_end_to_end(void)
{
    struct xs_backing backing[64];
    xt_make_context(0);
    char *p = xt_alloc(1000), *q = xt_alloc(100 * XS_MIB + 512);
    const size_t n = xs_inside_backing(first_device(), (uintptr_t)q, backing, 64);
    XT_CHECK(n > 1 && n <= 64);
    XT_CHECK(backing[0].va <= (uintptr_t)q);
    for (size_t i = 1; i < n; i++)
        XT_EQUAL(backing[i].va, backing[i - 1].va + backing[i - 1].bytes);
    XT_CHECK(backing[n - 1].va + backing[n - 1].bytes >= (uintptr_t)q + 100 * XS_MIB + 512);
    XT_EQUAL(xs_inside_backing(first_device(), (uintptr_t)q, backing, 1), n);
    XT_EQUAL(xs_inside_backing(first_device(), (uintptr_t)q + 512, backing, 64), 0);
    xt_free(p);
    xt_free(q);
}

/* ---- a device goes ---------------------------------------------------------------------------- */

static void a_closed_device_begins_anew(void)
{
    xt_make_context(0);
    for (unsigned i = 0; i < 3; i++) {
        void *p = xt_alloc(10 * XS_MIB);
        xt_free(xt_alloc(XS_MIB));
        xs_runtime_close_device(0);
        XT_EQUAL(xt_live().handles, 0);
        XT_EQUAL(xt_live().events, 0);
        XT_EQUAL(xseg_free(p), XSEG_ERROR_UNKNOWN_POINTER);
    }
    xs_runtime_close_device(0);
    xs_runtime_close_device(7);
    xt_check();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        REPORT("all streams have to pass", all_streams_have_to_pass),
        REPORT("plain free is for all streams", plain_free_is_for_all_streams),
        REPORT("waiting memory takes no neighbours", waiting_memory_takes_no_neighbours),
        REPORT("poison leaves it alone", poison_leaves_it_alone, "ALLOC_CONF=poison:165"),
        REPORT("peers may access all of it", peers_may_access_all_of_it, "XSEG_SIM_DEVICES=2"),
        REPORT("peers are all or nothing", peers_are_all_or_nothing, "XSEG_SIM_DEVICES=2"),
        REPORT("an address lies in its block", an_address_lies_in_its_block),
        REPORT("a block is backed from end to end", a_block_is_backed_from_end_to_end),
        REPORT("a closed device begins anew", a_closed_device_begins_anew),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
