/* Report R91: what a tool such as compute-sanitizer can see of an overrun. It knows the driver's allocations; so does the
 * simulator, which refuses a kernel that leaves its own. */
#include "report_fixture.h"

#define BYTES 1000 /* rounded to 1024 */

/* What the tool says to a kernel that uses so many bytes. */
static size_t complaints_about(const void *p, size_t bytes)
{
    XT_CU(sim.launch(NULL, (uintptr_t)p, bytes));
    XT_CU(cu.cuCtxSynchronize());
    size_t n = sim.violations();
    sim.clear_violations();
    return n;
}

static void each_block_is_an_allocation(void)
{
    xt_make_context(0);
    unsigned char *p = xt_alloc(BYTES), *q = xt_alloc(30 * XS_MIB);
    XT_EQUAL(complaints_about(p, BYTES), 0);
    XT_EQUAL(complaints_about(p, BYTES + 1), 1);
    XT_EQUAL(complaints_about(p + BYTES - 1, 2), 1);
    XT_EQUAL(complaints_about(q + 10 * XS_MIB, 20 * XS_MIB), 0); /* no border inside */
    XT_EQUAL(complaints_about(q + 30 * XS_MIB, 1), 1);
    xt_free(p);
    XT_EQUAL(complaints_about(p, 1), 1);
    xt_free(q);
}

/* As docs/preload.md says: inside memory that is mapped, nobody but xseg knows where blocks end. */
static void a_cache_hides_overruns(void)
{
    xt_make_context(0);
    unsigned char *p = xt_alloc(BYTES);
    XT_EQUAL(complaints_about(p, BYTES + 1), 0);
    xt_free(p);
    XT_EQUAL(complaints_about(p, 1), 0);
    XT_OK(xseg_empty_cache(0));
    XT_EQUAL(complaints_about(p, 1), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        REPORT("R91: without a cache a tool sees every overrun", each_block_is_an_allocation,
               "ALLOC_CONF=backend:cudaMalloc"),
        REPORT("R91: with one it does not", a_cache_hides_overruns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
