/* Libraries that use CUDA while they are loaded, beside threads that use it too: whoever loads one holds the loader's
 * lock, which dlopen and dlsym of all threads wait for. */
#include "program.h"

#include "../unit/fake/constructed.h"

static xs_cu_context context;
static _Atomic bool has_loaded;

static xs_cu_ptr get(size_t bytes)
{
    xs_cu_ptr va;
    CU(cu.alloc(&va, bytes));
    return va;
}

static void allocate(void)
{
    CU(cu.set_current(context));
    CU(cu.release_memory(get(4 * MIB)));
}

static void a_library_allocates_as_it_is_loaded(void)
{
    context = start();
    CHECK(load_calling(getenv("TEST_CONSTRUCTED"), allocate));
    EQUAL(stats().allocations.allocated, 1);
    no_violations();
}

/* ---- the first use of CUDA in two threads at once --------------------------------------------- */

static void two_threads_begin_at_once(void)
{
    context = start();
    CHECK(act_twice_at_once(getenv("TEST_CONSTRUCTED"), allocate));
    EQUAL(stats().allocations.allocated, 2);
    no_violations();
}

/* The same with the first look-up, which finds out whether the preload is on; what the C library's dlsym is, is known. */
static void *library;

static void look_up(void)
{
    CHECK(dlsym(library, "cuMemAlloc_v2") != NULL);
}

static void two_threads_look_up_at_once(void)
{
    library = driver_library();
    CHECK(dlsym(library, "strlen") != NULL);
    CHECK(act_twice_at_once(getenv("TEST_CONSTRUCTED"), look_up));
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
        CHECK(load_calling(getenv("TEST_CONSTRUCTED"), make_host_memory));
        EQUAL(made, XS_CUDA_ERROR_INVALID_VALUE);
    }
    atomic_store(&has_loaded, true);
    pthread_join(thread, NULL);
    EQUAL(stats().allocations.current, 0);
}

/* ---- R79: libraries that bring their own ------------------------------------------------------- */

static int (*plugin_malloc)(void **ptr, size_t bytes);
static int (*plugin_free)(void *ptr);

static void find_plugin(void *plugin)
{
    if (!plugin)
        FAIL("%s", dlerror());
    *(void **)&plugin_malloc = dlsym(plugin, "plugin_malloc");
    *(void **)&plugin_free = dlsym(plugin, "plugin_free");
}

/* In a namespace of its own the program has another driver, which is the plug-in's business alone. */
static void another_namespace_has_the_drivers_memory(void)
{
    void *p;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    exit(77); /* there can be but one of its run-time */
#endif
    context = start();
    allocate();
    find_plugin(dlmopen(LM_ID_NEWLM, getenv("TEST_PLUGIN"), RTLD_NOW));
    EQUAL(plugin_malloc(&p, MIB), 0);
    EQUAL(plugin_free(p), 0);
    EQUAL(stats().allocations.allocated, 1);
    no_violations();
}

/* A plug-in that finds the driver's own functions cannot free what was served: it is refused, and nothing is harmed. */
static void served_memory_is_not_freed_behind_our_back(void)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    exit(77); /* it does not take RTLD_DEEPBIND */
#endif
    unsigned char got = 0;
    void *own;
    context = start();
    find_plugin(dlopen(getenv("TEST_PLUGIN"), RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND));
    xs_cu_ptr p = get(MIB);
    CU(cu.set_bytes(p, 9, MIB, NULL));
    EQUAL(plugin_malloc(&own, MIB), 0);
    EQUAL(stats().allocations.allocated, 1);
    CHECK(plugin_free((void *)(uintptr_t)p) != 0);
    sim.clear_violations();
    CU(cu.to_host(&got, p + MIB - 1, 1));
    EQUAL(got, 9);
    CU(cu.release_memory((uintptr_t)own)); /* the other way round it works */
    CU(cu.release_memory(p));
    EQUAL(stats().allocations.current, 0);
    no_violations();
}

/* ---- R76: the switch --------------------------------------------------------------------------- */

static void the_switch_is_read_at_the_first_call(void)
{
    setenv("XSEG_PRELOAD", "0", 1); /* after the preload was loaded */
    context = start();
    CU(cu.release_memory(get(MIB)));
    setenv("XSEG_PRELOAD", "1", 1);
    CU(cu.release_memory(get(MIB)));
    EQUAL(sim.calls("cuMemAlloc_v2"), 2);
    struct xseg_stats s = {.size = sizeof(s)};
    CHECK(get_stats(0, &s) != XSEG_OK || s.allocations.allocated == 0);
    no_violations();
}

int main(int argc, char **argv)
{
    static const struct test_case cases[] = {
#define X(name) {#name, name}
        X(a_library_allocates_as_it_is_loaded),
        X(two_threads_begin_at_once),
        X(two_threads_look_up_at_once),
        X(host_memory_is_the_drivers),
        X(another_namespace_has_the_drivers_memory),
        X(served_memory_is_not_freed_behind_our_back),
        X(the_switch_is_read_at_the_first_call),
#undef X
    };
    return run_case(cases, sizeof(cases) / sizeof(*cases), argc, argv);
}
