/* Report R80: libraries that allocate while they are loaded, beside threads that do so too. Whoever loads a library holds
 * the loader's lock, and the first allocation loads the driver. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>

#include "../unit/unit.h"

#include "../model/xseg_fixture.h"
#include "forked.h"

static _Atomic bool is_loading, has_begun;

static void nap(long ms)
{
    nanosleep(&(struct timespec){0, ms * 1000000}, NULL);
}

static void *allocate_elsewhere(void *unused)
{
    while (!atomic_load(&is_loading))
        nap(1);
    atomic_store(&has_begun, true);
    xt_free(xt_alloc(XS_MIB));
    return unused;
}

/* By now the other thread waits for the loader, if it has to. */
static void allocate_in_loader(void)
{
    atomic_store(&is_loading, true);
    while (!atomic_load(&has_begun))
        nap(1);
    nap(100);
    xt_free(xt_alloc(XS_MIB));
}

/* constructed.so calls a function of the program while it is loaded. */
static void load_calling(void (*run)(void))
{
    char address[32], path[512];
    snprintf(address, sizeof(address), "%p", *(void **)&run);
    snprintf(path, sizeof(path), "%s/constructed.so", getenv("XSEG_TEST_FAKES"));
    setenv("TEST_IN_CONSTRUCTOR", address, 1);
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    XT_CHECK(library != NULL);
    dlclose(library);
}

/* The driver is there, as libcuda.so.1, and xseg has not met it. */
static void in_child(void)
{
    pthread_t thread;
    XT_CHECK(dlopen(getenv("XSEG_TEST_SIM"), RTLD_NOW | RTLD_LOCAL) != NULL);
    XT_EQUAL(pthread_create(&thread, NULL, allocate_elsewhere, NULL), 0);
    load_calling(allocate_in_loader);
    pthread_join(thread, NULL);
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
