/* Reports R75, R101, R104 and R106: more than one device, and devices that hold less than they say. */
#include <pthread.h>

#include "report_fixture.h"
#include "xseg/pools.h"

static bool has_context(int device)
{
    unsigned flags;
    int active;
    XT_CU(cu.cuDevicePrimaryCtxGetState(device, &flags, &active));
    return active;
}

static void *alloc_on_device(int device, size_t bytes)
{
    void *p = NULL;
    XT_OK(xseg_malloc(&p, bytes, device, NULL));
    return p;
}

/* ---- R101: a helper thread without a device --------------------------------------------------- */

static void *help(void *block)
{
    struct xseg_stats s = {.size = sizeof(s)};
    XT_CHECK(!xt_has_context());
    XT_OK(xseg_free(block));
    XT_OK(xseg_empty_cache(XSEG_CURRENT_DEVICE));
    XT_OK(xseg_empty_cache(1));
    XT_OK(xseg_empty_cache(0));
    XT_OK(xseg_get_stats(0, &s));
    XT_OK(xseg_get_stats(1, &s));
    xt_free(alloc_on_device(1, 40 * XS_MIB));
    XT_CHECK(!xt_has_context());
    return NULL;
}

static void r101(void)
{
    pthread_t thread;
    void *p = alloc_on_device(1, 8 * XS_MIB), *kept = alloc_on_device(1, 100);
    XT_EQUAL(pthread_create(&thread, NULL, help, p), 0);
    pthread_join(thread, NULL);
    XT_CHECK(!has_context(0));
    XT_CHECK(has_context(1));
    XT_EQUAL(xt_live().contexts, 1);
    XT_EQUAL(xt_stats(1).allocations.current, 1);
    xt_check_devices(2);
    xt_free(kept);
}

/* ---- R104: figures and frees belong to their own device --------------------------------------- */

static void r104(void)
{
    void *p[2] = {alloc_on_device(0, 10 * XS_MIB), alloc_on_device(1, 30 * XS_MIB)};
    xt_make_context(0);
    XT_EQUAL(xt_stats(1).device, 1);
    XT_EQUAL(xt_stats(1).requested_bytes.current, 30 * XS_MIB);
    XT_EQUAL(xt_stats(0).requested_bytes.current, 10 * XS_MIB);
    XT_EQUAL(xt_stats(XSEG_CURRENT_DEVICE).requested_bytes.current, 10 * XS_MIB);
    xt_free(p[1]); /* while 0 is current */
    XT_EQUAL(xt_stats(1).requested_bytes.current, 0);
    XT_EQUAL(xt_stats(0).requested_bytes.current, 10 * XS_MIB);
    xt_check_devices(2);
    void *current = NULL;
    XT_OK(xseg_malloc(&current, 5 * XS_MIB, XSEG_CURRENT_DEVICE, NULL));
    XT_EQUAL(xt_stats(0).requested_bytes.current, 15 * XS_MIB);
    XT_OK(xseg_empty_cache(1));
    XT_EQUAL(xt_stats(1).reserved_bytes.current, 0);
    XT_CHECK(xt_stats(0).reserved_bytes.current >= 15 * XS_MIB);
    xt_free(current);
    xt_free(p[0]);
}

static void no_such_device(void)
{
    void *p = NULL;
    XT_EQUAL(xseg_malloc(&p, 100, 2, NULL), XSEG_ERROR_NO_DEVICE);
    XT_EQUAL(xseg_malloc(&p, 100, -2, NULL), XSEG_ERROR_NO_DEVICE);
    XT_EQUAL(xseg_malloc(&p, 100, 1000, NULL), XSEG_ERROR_NO_DEVICE);
    XT_EQUAL(xseg_malloc(&p, 100, XSEG_CURRENT_DEVICE, NULL), XSEG_ERROR_NO_DEVICE);
    XT_EQUAL(xt_live().contexts, 0);
}

/* ---- peers ------------------------------------------------------------------------------------ */

/* A kernel of device 1 on memory of device 0. */
static bool reaches(void *p, size_t bytes)
{
    xt_make_context(1);
    XT_CU(sim.launch(NULL, (uintptr_t)p, bytes));
    const bool good = !sim.violations();
    sim.clear_violations();
    xt_drop_context(1);
    return good;
}

static void peers(void)
{
    void *before = alloc_on_device(0, 40 * XS_MIB);
    XT_CHECK(!reaches(before, 40 * XS_MIB));
    XT_OK(xseg_peer_access(0, 1, true));
    XT_CHECK(reaches(before, 40 * XS_MIB));
    void *after = alloc_on_device(0, 200 * XS_MIB), *held;
    XT_CHECK(reaches(after, 200 * XS_MIB));
    xseg_pool pool;
    XT_OK(xseg_pool_create(0, 0, &pool));
    XT_OK(xseg_pool_malloc(&held, 8 * XS_MIB, pool, NULL));
    XT_CHECK(reaches(held, 8 * XS_MIB));
    XT_OK(xseg_peer_access(0, 1, false));
    XT_CHECK(!reaches(before, 512) && !reaches(after, 512) && !reaches(held, 512));
    xt_free(before);
    xt_free(after);
    xt_free(held);
    XT_OK(xseg_pool_destroy(pool));
}

/* What is refused must not make later requests fail. */
static void peers_refused(void)
{
    XT_EQUAL(xseg_peer_access(0, 0, true), XSEG_ERROR_INVALID_VALUE);
    XT_EQUAL(xseg_peer_access(0, 64, true), XSEG_ERROR_INVALID_VALUE);
    XT_EQUAL(xseg_peer_access(0, -1, true), XSEG_ERROR_INVALID_VALUE);
    XT_EQUAL(xseg_peer_access(0, 2, true), XSEG_ERROR_NO_DEVICE);
    XT_EQUAL(xseg_peer_access(2, 0, true), XSEG_ERROR_NO_DEVICE);
    XT_EQUAL(sim.violations(), 1); /* it was asked for device 2 */
    sim.clear_violations();
    xt_free(alloc_on_device(0, 40 * XS_MIB));
}

/* ---- R75: free and total ---------------------------------------------------------------------- */

static void r75(void)
{
    size_t free_bytes, total;
    void *p = xt_alloc(100 * XS_MIB);
    xt_free(xt_alloc(60 * XS_MIB));
    XT_OK(xseg_memory_info(0, &free_bytes, &total));
    XT_EQUAL(total, 4 * XS_GIB);
    XT_EQUAL(free_bytes, 4 * XS_GIB - 100 * XS_MIB); /* what is cached can be given back */
    set_limit(XS_GIB);
    XT_OK(xseg_memory_info(0, &free_bytes, &total));
    XT_EQUAL(total, XS_GIB);
    XT_EQUAL(free_bytes, XS_GIB - 100 * XS_MIB);
    xt_free(p);
}

/* ---- R106: others hold memory, so the device ends below its total ----------------------------- */

static void r106(void)
{
    static void *p[600];
    xs_cu_ptr others;
    xt_make_context(0);
    XT_CU(cu.cuMemAlloc_v2(&others, 3 * XS_GIB + 2 * XS_MIB));
    unsigned n = 0;
    while ((p[n] = xt_try(30 * XS_MIB, NULL)))
        n++;
    XT_EQUAL(n, 34);
    while ((p[n] = xt_try(2 * XS_MIB, NULL)))
        n++;
    XT_EQUAL(xt_reserved(), 1022 * XS_MIB); /* all that there is */
    XT_EQUAL(n, 34 + 1);
    XT_EQUAL(xt_live().used_bytes, 4 * XS_GIB);
    while (n)
        xt_free(p[--n]);
    void *all = xt_alloc(1022 * XS_MIB);
    xt_free(all);
    XT_CU(cu.cuMemFree_v2(others));
    xt_free(xt_alloc(3 * XS_GIB));
}

static void r106_fraction(void)
{
    void *p = xt_alloc(2 * XS_GIB);
    must_not_fit(2 * XS_MIB);
    xt_free(p);
    XT_OK(xseg_empty_cache(0));
    XT_OK(xseg_set_memory_fraction(0, 0.25));
    must_not_fit(XS_GIB + 1);
    xt_free(must_fit(XS_GIB));
    XT_OK(xseg_set_memory_fraction(0, 1));
    xt_free(must_fit(4 * XS_GIB));
    XT_EQUAL(xseg_set_memory_fraction(0, 1.5), XSEG_ERROR_INVALID_VALUE);
    XT_EQUAL(xseg_set_memory_fraction(0, -0.5), XSEG_ERROR_INVALID_VALUE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        REPORT("R75: free memory counts what can be given back, within the limit", r75,
               "XSEG_SIM_CAPACITY=4G"),
        REPORT("R101: a helper thread makes no context", r101, "XSEG_SIM_DEVICES=2"),
        REPORT("R101: the same in classic mode", r101, "XSEG_SIM_DEVICES=2", CLASSIC),
        REPORT("R104: each device has its own figures", r104, "XSEG_SIM_DEVICES=2"),
        REPORT("R104: the same in classic mode", r104, "XSEG_SIM_DEVICES=2", CLASSIC),
        REPORT("R104: a device that is not there is refused", no_such_device, "XSEG_SIM_DEVICES=2"),
        REPORT("a peer reaches what there is and what will be", peers, "XSEG_SIM_DEVICES=2"),
        REPORT("a peer that is not there is refused", peers_refused, "XSEG_SIM_DEVICES=2"),
        REPORT("R106: the last granule of a device that others use", r106, "XSEG_SIM_CAPACITY=4G"),
        REPORT("R106: fractions", r106_fraction, "XSEG_SIM_CAPACITY=4G",
               "ALLOC_CONF=per_process_memory_fraction:0.5"),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
