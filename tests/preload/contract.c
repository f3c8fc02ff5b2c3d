/*
 * Prints what odd calls come to: return codes, what is written on failure, the runtime library's error slot. The
 * output must be the same with and without the preload. Addresses are not printed.
 */
#include "program.h"

#include <pthread.h>

#include "fake_cudart.h"

#define SHOW(call) printf("%-64s %d\n", #call, (int)(call))

static xs_cu_ptr va, other;
static size_t n, m;
static char host[4096];

static void before_a_context(void)
{
    SHOW(cu.alloc(&va, 4096));
    SHOW(cu.release_memory(0));
    CU(cu.init(0));
    SHOW(cu.alloc(&va, 4096));
    SHOW(cu.alloc_async(&va, 4096, NULL));
    SHOW(cu.info(&n, &m));
    SHOW(cu.pitch(&va, &n, 100, 10, 4));
}

static void arguments(void)
{
    va = 0x1234;
    SHOW(cu.alloc(NULL, 4096));
    SHOW(cu.alloc(NULL, 0));
    SHOW(cu.alloc(&va, 0));
    SHOW(cu.alloc(&va, SIZE_MAX));
    SHOW(cu.alloc(&va, SIZE_MAX / 2));
    SHOW(cu.alloc(&va, 4096 * MIB));
    SHOW(va == 0x1234);
    SHOW(cu.release_memory(0));
    SHOW(cu.release_memory(0x5000));
    SHOW(cu.release_memory((uintptr_t)host));
    SHOW(cu.info(NULL, &m));
    SHOW(cu.info(&n, NULL));
    SHOW(cu.range(NULL, NULL, 0));
    SHOW(cu.range(&va, &n, 0x5000));
    SHOW(cu.alloc_async(NULL, 4096, NULL));
    SHOW(cu.alloc_async(&va, 0, NULL));
    SHOW(cu.alloc_async(&va, SIZE_MAX, NULL));
    SHOW(cu.free_async(0, NULL));
    SHOW(cu.free_async(0x5000, NULL));
    SHOW(cu.attribute(NULL, 11, 0x5000));
    SHOW(cu.attributes(0, NULL, NULL, 0x5000));
}

/* R78: what this driver lacks, or nobody knows. */
static void missing_entries(void)
{
    static const char *const names[] = {"cuLaunchKernelEx", "cuMemAlloc_v3", "cuNothing",
                                        "cuMemAlloc"};
    for (int i = 0; i < 4; i++)
        printf("%s: %d\n", names[i], dlsym(driver_library(), names[i]) != NULL);
    void *fn = host;
    int (*find)(const char *, void **, int, uint64_t, int *);
    *(void **)&find = dlsym(driver_library(), "cuGetProcAddress_v2");
    SHOW(find("cuNothing", &fn, 12000, 0, NULL));
    SHOW(fn == NULL);
    SHOW(find("cuMemAlloc", NULL, 12000, 0, NULL));
    SHOW(find(NULL, &fn, 12000, 0, NULL));
    SHOW(find("cuMemAlloc", &fn, 99000, 0, NULL));
    SHOW(find("cudaMalloc", &fn, 12000, 0, NULL));
}

static void pitches(void)
{
    static const size_t widths[] = {0, 1, 511, 512, 513, 100000, SIZE_MAX - 100};
    for (size_t i = 0; i < sizeof(widths) / sizeof(*widths); i++) {
        n = 77;
        int code = cu.pitch(&va, &n, widths[i], 3, 4);
        printf("pitch of %zu: %d %zu\n", widths[i], code, n);
        if (!code)
            CU(cu.release_memory(va));
    }
    SHOW(cu.pitch(&va, &n, 100, 0, 4));
    SHOW(cu.pitch(&va, &n, 100, 10, 5));
    SHOW(cu.pitch(NULL, &n, 100, 10, 4));
    SHOW(cu.pitch(&va, NULL, 100, 10, 4));
    SHOW(cu.pitch(&va, &n, SIZE_MAX / 2, 1000, 16));
}

static void pointers(void)
{
    for (size_t bytes = 1; bytes < 64 * MIB; bytes = bytes * 3 + 7) {
        CU(cu.alloc(&va, bytes));
        SHOW(va % 256);
        SHOW(cu.release_memory(va + 256) != 0);
        xs_cu_ptr base = 0;
        CU(cu.range(&base, &n, va + bytes / 2));
        printf("range: %d %d\n", base == va, n == bytes);
        CU(cu.range(&base, NULL, va));
        CU(cu.range(NULL, &n, va));
        CU(cu.release_memory(va));
        SHOW(cu.release_memory(va));
        SHOW(cu.range(&base, &n, va) == 0 && base == va && n == bytes);
    }
}

/* Each allocator with each free (report R73). */
static void pairs(void)
{
    for (int how = 0; how < 4; how++) {
        for (int end = 0; end < 2; end++) {
            size_t pitch;
            xs_cu_result a = how == 0   ? cu.alloc(&va, 8192)
                             : how == 1 ? cu.alloc_async(&va, 8192, NULL)
                             : how == 2 ? cu.managed(&va, 8192, 1)
                                        : cu.pitch(&va, &pitch, 100, 10, 4);
            xs_cu_result b = end ? cu.free_async(va, NULL) : cu.release_memory(va);
            CU(cu.synchronize());
            printf("allocator %d, free %d: %d %d\n", how, end, a, b);
        }
    }
}

static void runtime(void)
{
    void *p = (void *)0x1234;
    SHOW(cudaMalloc(NULL, 100));
    SHOW(cudaPeekAtLastError());
    SHOW(cudaGetLastError());
    SHOW(cudaGetLastError());
    SHOW(cudaMalloc(&p, 0));
    SHOW(p == NULL);
    SHOW(cudaFree(NULL));
    SHOW(cudaMalloc(&p, SIZE_MAX));
    SHOW(cudaPeekAtLastError());
    SHOW(cudaMalloc(&p, 100)); /* a success leaves the slot as it is */
    SHOW(cudaGetLastError());
    SHOW(cudaFree((char *)p + 16));
    SHOW(cudaGetLastError());
    SHOW(cudaFree(p));
    SHOW(cudaFree(p));
    SHOW(cudaGetLastError());
    SHOW(cudaMallocPitch(&p, &n, 700, 9));
    SHOW(n);
    SHOW(cudaFree(p));
    SHOW(cudaMallocAsync(&p, 100, NULL));
    SHOW(cudaFreeAsync(p, NULL));
    SHOW(cudaMemGetInfo(&n, &m));
    SHOW(n <= m);
}

/* R72: a thread that no context is current in. */
static void *ask_without_a_context(void *unused)
{
    size_t pitch;
    SHOW(cu.alloc(&other, 4096));
    SHOW(cu.pitch(&other, &pitch, 100, 10, 4));
    SHOW(cu.alloc_async(&other, 4096, NULL));
    SHOW(cu.managed(&other, 4096, 1));
    SHOW(cu.info(&n, &m));
    SHOW(cu.release_memory(va));
    SHOW(cu.free_async(va, NULL));
    SHOW(cu.release_memory(0));
    return unused;
}

static void without_a_context(void)
{
    pthread_t thread;
    CU(cu.alloc(&va, 4096));
    CHECK(!pthread_create(&thread, NULL, ask_without_a_context, NULL));
    pthread_join(thread, NULL);
    SHOW(cu.release_memory(va));
}

static void second_device(void)
{
    xs_cu_context first, second;
    if (cu.retain(&second, 1))
        return;
    CU(cu.retain(&first, 0));
    CU(cu.set_current(first));
    CU(cu.alloc(&va, 4096));
    CU(cu.set_current(second));
    SHOW(cu.release_memory(va));
    SHOW(cu.release_memory(va));
    CU(cu.alloc(&va, 4096));
    CU(cu.set_current(first));
    CU(cu.alloc(&other, 4096));
    SHOW(va == other);
    SHOW(cu.release_memory(va));
    SHOW(cu.release_memory(other));
    CU(cu.release(1));
    CU(cu.release(0));
}

int main(void)
{
    xs_cu_context context;
    find_controls();
    find_by_dlsym(driver_library());
    before_a_context();
    CU(cu.retain(&context, 0));
    CU(cu.set_current(context));
    arguments();
    missing_entries();
    pitches();
    pointers();
    pairs();
    without_a_context();
    runtime();
    second_device();
    return 0;
}
