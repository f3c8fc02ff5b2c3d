/* Libraries that use CUDA while they are loaded, beside threads that use it too: whoever loads one holds the loader's
 * lock, which dlopen and dlsym of all threads wait for. */
#include "program.h"

#include <pthread.h>
#include <stdatomic.h>

static xs_cu_context context;
static _Atomic bool is_loading, has_begun, has_loaded;

static xs_cu_ptr get(size_t bytes)
{
    xs_cu_ptr va;
    CU(cu.alloc(&va, bytes));
    return va;
}

/* constructed.so calls the function while it is loaded. */
static void load_calling(void (*run)(void))
{
    char address[32];
    snprintf(address, sizeof(address), "%p", *(void **)&run);
    setenv("TEST_IN_CONSTRUCTOR", address, 1);
    void *constructed = dlopen(getenv("TEST_CONSTRUCTED"), RTLD_NOW | RTLD_LOCAL);
    if (!constructed)
        FAIL("%s", dlerror());
    dlclose(constructed);
}

static void allocate(void)
{
    CU(cu.set_current(context));
    CU(cu.release_memory(get(4 * MIB)));
}

static void a_library_allocates_as_it_is_loaded(void)
{
    context = start();
    load_calling(allocate);
    EQUAL(stats().allocations.allocated, 1);
    no_violations();
}

/* ---- the first use of CUDA in two threads at once --------------------------------------------- */

static void *begin_elsewhere(void *unused)
{
    while (!atomic_load(&is_loading))
        usleep(1000);
    atomic_store(&has_begun, true);
    allocate();
    return unused;
}

/* By now the other thread waits for the loader, if it has to. */
static void begin_in_loader(void)
{
    atomic_store(&is_loading, true);
    while (!atomic_load(&has_begun))
        usleep(1000);
    usleep(100000);
    allocate();
}

static void two_threads_begin_at_once(void)
{
    pthread_t thread;
    context = start();
    EQUAL(pthread_create(&thread, NULL, begin_elsewhere, NULL), 0);
    load_calling(begin_in_loader);
    pthread_join(thread, NULL);
    EQUAL(stats().allocations.allocated, 2);
    no_violations();
}

/* The same with the first look-up, which finds out whether the preload is on; what the C library's dlsym is, is known. */
static void *library;

static void *look_up_elsewhere(void *unused)
{
    while (!atomic_load(&is_loading))
        usleep(1000);
    atomic_store(&has_begun, true);
    CHECK(dlsym(library, "cuMemAlloc_v2") != NULL);
    return unused;
}

static void look_up_in_loader(void)
{
    atomic_store(&is_loading, true);
    while (!atomic_load(&has_begun))
        usleep(1000);
    usleep(100000);
    CHECK(dlsym(library, "cuMemAlloc_v2") != NULL);
}

static void two_threads_look_up_at_once(void)
{
    pthread_t thread;
    library = driver_library();
    CHECK(dlsym(library, "strlen") != NULL);
    EQUAL(pthread_create(&thread, NULL, look_up_elsewhere, NULL), 0);
    load_calling(look_up_in_loader);
    pthread_join(thread, NULL);
    context = start();
    allocate();
    EQUAL(stats().allocations.allocated, 1);
}

/* ---- R70: host memory, made by a library as it is loaded ---------------------------------------- */

static xs_cu_result made;

static void make_host_memory(void)
{
    const struct xs_cu_alloc_prop prop = {.type = XS_CU_ALLOCATION_PINNED,
                                          .location = {2 /* CU_MEM_LOCATION_TYPE_HOST */, 0}};
    xs_cu_mem mem;
    made = cu.mem_create(&mem, 2 * MIB, &prop, 0);
}

static void *grow_in_a_loop(void *unused)
{
    while (!atomic_load(&has_loaded)) {
        xs_cu_ptr va[8];
        CU(cu.set_current(context));
        for (size_t i = 0; i < 8; i++)
            va[i] = get((i + 1) * 10 * MIB);
        for (size_t i = 0; i < 8; i++)
            CU(cu.release_memory(va[i]));
    }
    return unused;
}

/* The simulator refuses such memory: what counts is that the driver has been asked, as it was. */
static void host_memory_is_the_drivers(void)
{
    pthread_t thread;
    context = start();
    EQUAL(pthread_create(&thread, NULL, grow_in_a_loop, NULL), 0);
    for (int i = 0; i < 50; i++) {
        load_calling(make_host_memory);
        EQUAL(made, XS_CUDA_ERROR_INVALID_VALUE);
    }
    atomic_store(&has_loaded, true);
    pthread_join(thread, NULL);
    EQUAL(stats().allocations.current, 0);
}

int main(int argc, char **argv)
{
    static const struct test_case cases[] = {
#define X(name) {#name, name}
        X(a_library_allocates_as_it_is_loaded),
        X(two_threads_begin_at_once),
        X(two_threads_look_up_at_once),
        X(host_memory_is_the_drivers),
#undef X
    };
    return run_case(cases, sizeof(cases) / sizeof(*cases), argc, argv);
}
