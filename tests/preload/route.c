/*
 * One way to the driver, ROUTE, and through it: two blocks, one freed, one asked for again. Under the preload each
 * request must have been served, and counted, once; without it, by the driver.
 */
#include "program.h"

#include "fake_cudart.h"

#define LINKED      1 /* with libcuda, by name */
#define BY_DLSYM    2
#define BY_NEXT     3 /* dlsym(RTLD_NEXT) and dlsym(RTLD_DEFAULT) of the main program */
#define BY_DEFAULT  4
#define BY_PROC     5  /* cuGetProcAddress_v2 */
#define BY_OLD_PROC 6  /* cuGetProcAddress, as it was before CUDA 12 */
#define PER_THREAD  7  /* with the flag for per-thread default streams */
#define RUNTIME     8  /* cudart, linked or of its own */
#define ENTRY_POINT 9  /* cudaGetDriverEntryPoint and its ByVersion form */
#define BY_PLUGIN   10 /* a library that is loaded with RTLD_LOCAL, and links cudart */

static xs_cu_result (*get_memory)(xs_cu_ptr *va, size_t bytes);
static xs_cu_result (*give_memory)(xs_cu_ptr va);

#if ROUTE == LINKED
xs_cu_result cuInit(unsigned flags);
xs_cu_result cuDevicePrimaryCtxRetain(xs_cu_context *context, xs_cu_device device);
xs_cu_result cuCtxSetCurrent(xs_cu_context context);
xs_cu_result cuMemAlloc_v2(xs_cu_ptr *va, size_t bytes);
xs_cu_result cuMemFree_v2(xs_cu_ptr va);

static void go_there(void)
{
    xs_cu_context context;
    CU(cuInit(0));
    CU(cuDevicePrimaryCtxRetain(&context, 0));
    CU(cuCtxSetCurrent(context));
    get_memory = cuMemAlloc_v2;
    give_memory = cuMemFree_v2;
}

#elif ROUTE == BY_DLSYM || ROUTE == BY_NEXT || ROUTE == BY_DEFAULT
static void go_there(void)
{
    void *library = driver_library();
    void *handle = ROUTE == BY_DLSYM ? library : ROUTE == BY_NEXT ? RTLD_NEXT : RTLD_DEFAULT;
    start();
    /* The pseudo handles find what is in the global scope: the program is linked with the driver. */
    *(void **)&get_memory = dlsym(handle, "cuMemAlloc_v2");
    *(void **)&give_memory = dlsym(handle, "cuMemFree_v2");
}

#elif ROUTE == BY_PROC || ROUTE == BY_OLD_PROC || ROUTE == PER_THREAD
#define FLAGS (ROUTE == PER_THREAD ? XS_CU_PROC_PER_THREAD_STREAM : 1)

static void find(const char *name, void *fn)
{
    xs_cu_result (*by_version)(const char *, void **, int, uint64_t, int *);
    xs_cu_result (*old)(const char *, void **, int, uint64_t);
    void *library = driver_library();
    if (ROUTE == BY_OLD_PROC) {
        *(void **)&old = dlsym(library, "cuGetProcAddress");
        CU(old(name, fn, 11040, FLAGS));
    } else {
        int status = -1;
        *(void **)&by_version = dlsym(library, "cuGetProcAddress_v2");
        CU(by_version(name, fn, 12000, FLAGS, &status));
        EQUAL(status, XS_CU_PROC_FOUND);
    }
}

static xs_cu_result (*get_on)(xs_cu_ptr *va, size_t bytes, xs_cu_stream stream);
static xs_cu_result (*give_on)(xs_cu_ptr va, xs_cu_stream stream);

static xs_cu_result get_on_own(xs_cu_ptr *va, size_t bytes)
{
    return get_on(va, bytes, NULL);
}

static xs_cu_result give_on_own(xs_cu_ptr va)
{
    return give_on(va, NULL);
}

/* With the flag: the twin whose NULL stream is the thread's own. */
static void go_there(void)
{
    start();
    find("cuMemAlloc", &get_memory);
    find("cuMemFree", &give_memory);
    if (ROUTE != PER_THREAD)
        return;
    find("cuMemAllocAsync", &get_on);
    find("cuMemFreeAsync", &give_on);
    CHECK((void *)get_on == dlsym(driver_library(), "cuMemAllocAsync_ptsz"));
    CHECK((void *)give_on == dlsym(driver_library(), "cuMemFreeAsync_ptsz"));
    get_memory = get_on_own;
    give_memory = give_on_own;
}

#elif ROUTE == RUNTIME
static xs_cu_result get(xs_cu_ptr *va, size_t bytes)
{
    void *p = NULL;
    xs_cu_result code = cudaMalloc(&p, bytes);
    *va = (uintptr_t)p;
    return code;
}

static xs_cu_result give(xs_cu_ptr va)
{
    return cudaFree((void *)(uintptr_t)va);
}

static void go_there(void)
{
    get_memory = get;
    give_memory = give;
}

#elif ROUTE == BY_PLUGIN
static int (*plugin_malloc)(void **ptr, size_t bytes);
static int (*plugin_free)(void *ptr);

static xs_cu_result get(xs_cu_ptr *va, size_t bytes)
{
    void *p = NULL;
    xs_cu_result code = plugin_malloc(&p, bytes);
    *va = (uintptr_t)p;
    return code;
}

static xs_cu_result give(xs_cu_ptr va)
{
    return plugin_free((void *)(uintptr_t)va);
}

static void go_there(void)
{
    int deep = getenv("TEST_DEEPBIND") ? RTLD_DEEPBIND : 0;
    void *plugin = dlopen(getenv("TEST_PLUGIN"), RTLD_NOW | RTLD_LOCAL | deep);
    if (!plugin)
        FAIL("%s", dlerror());
    *(void **)&plugin_malloc = dlsym(plugin, "plugin_malloc");
    *(void **)&plugin_free = dlsym(plugin, "plugin_free");
    get_memory = get;
    give_memory = give;
}

#else
static void go_there(void)
{
    int status = -1;
    CU(cudaGetDriverEntryPoint("cuMemAlloc", (void **)&get_memory, 0, &status));
    EQUAL(status, 0);
    CU(cudaGetDriverEntryPointByVersion("cuMemFree", (void **)&give_memory, 12000, 0, &status));
    EQUAL(status, 0);
}
#endif

int main(void)
{
    xs_cu_ptr a, b, c;
    find_controls();
    go_there();
    CHECK(get_memory && give_memory);
    CU(get_memory(&a, 64 * MIB));
    CU(get_memory(&b, 64 * MIB));
    CHECK(a && b && a != b);
    CU(give_memory(a));
    CU(get_memory(&c, 64 * MIB));
    CU(give_memory(b));
    CU(give_memory(c));
    uint64_t native = sim.calls("cuMemAlloc_v2") + sim.calls("cuMemAllocAsync");
    native -= getenv("XSEG_REPORT") ? 3 : 0; /* the report's own, to see what they take */
    bool expect_none = getenv("TEST_EXPECT_NATIVE") != NULL;
    EQUAL(is_preloaded() && !expect_none, native == 0);
    if (is_preloaded()) {
        struct xseg_stats s = stats();
        EQUAL(s.allocations.allocated, expect_none ? 0 : 3);
        EQUAL(s.allocations.current, 0);
        EQUAL(s.requested_bytes.peak, expect_none ? 0 : 128 * MIB);
    }
    no_violations();
    return 0;
}
