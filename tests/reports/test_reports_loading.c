/* Report R80: libraries that allocate while they are loaded, beside threads that do so too. Whoever loads a library holds
 * the loader's lock, and the first allocation loads the driver. */
#include "../unit/fake/constructed.h"
#include "../unit/unit.h"

#include "../model/xseg_fixture.h"
#include "forked.h"

static void allocate(void)
{
    xt_free(xt_alloc(XS_MIB));
}

/* The driver is there, as libcuda.so.1, and xseg has not met it. */
static void in_child(void)
{
    char path[512];
    snprintf(path, sizeof(path), "%s/constructed.so", getenv("XSEG_TEST_FAKES"));
    XT_CHECK(dlopen(getenv("XSEG_TEST_SIM"), RTLD_NOW | RTLD_LOCAL) != NULL);
    XT_CHECK(act_twice_at_once(path, allocate));
    XT_EQUAL(xt_stats(0).allocations.allocated, 2);
    XT_OK(xseg_shutdown());
}

static void two_threads_allocate_first_one_of_them_as_it_loads_a_library(void **state)
{
    (void)state;
    assert_int_equal(run_forked(in_child), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_threads_allocate_first_one_of_them_as_it_loads_a_library),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
