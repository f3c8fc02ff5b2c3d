/*
 * A CUDA program that knows nothing of xseg: one mode a run. What it prints on standard output must be the same with
 * and without the preload; times go to standard error.
 *
 *   preload_program MODE [N]
 */
#include <cuda.h>
#include <dlfcn.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>

#include "check.cuh"

#define SHOW(call) printf("%-60s %d\n", #call, (int)(call))

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* ---- routes: two blocks, one freed, one asked for again; all are written and read ------------------- */

typedef CUresult (*alloc_fn)(CUdeviceptr *, size_t);
typedef CUresult (*free_fn)(CUdeviceptr);

static CUresult runtime_alloc(CUdeviceptr *va, size_t bytes)
{
    void *p = NULL;
    int code = cudaMalloc(&p, bytes);
    *va = (CUdeviceptr)p;
    return (CUresult)code;
}

static CUresult runtime_free(CUdeviceptr va)
{
    return (CUresult)cudaFree((void *)va);
}

static void use_route(alloc_fn alloc, free_fn release)
{
    CUdeviceptr a, b, c, total;
    unsigned long long result;
    CHECK(alloc(&a, 64 * MIB));
    CHECK(alloc(&b, 64 * MIB));
    CHECK(alloc(&total, 8));
    CHECK(cudaMemset((void *)total, 0, 8));
    fill<<<256, 256>>>((unsigned *)a, 16 * MIB, 1);
    fill<<<256, 256>>>((unsigned *)b, 16 * MIB, 2);
    sum<<<256, 256>>>((unsigned *)a, 16 * MIB, (unsigned long long *)total, 0);
    CHECK(release(a));
    CHECK(alloc(&c, 64 * MIB));
    fill<<<256, 256>>>((unsigned *)c, 16 * MIB, 3);
    sum<<<256, 256>>>((unsigned *)b, 16 * MIB, (unsigned long long *)total, 0);
    sum<<<256, 256>>>((unsigned *)c, 16 * MIB, (unsigned long long *)total, 0);
    CHECK(cudaMemcpy(&result, (void *)total, 8, cudaMemcpyDeviceToHost));
    CHECK(release(b));
    CHECK(release(c));
    CHECK(release(total));
    printf("sum %llu\n", result);
}

static void routes(const char *route)
{
    alloc_fn alloc = runtime_alloc;
    free_fn release = runtime_free;
    void *driver = dlopen("libcuda.so.1", RTLD_NOW);
    cudaDriverEntryPointQueryResult found;
    CHECK(cudaFree(NULL));
    if (strcmp(route, "linked") == 0) {
        alloc = cuMemAlloc;
        release = cuMemFree;
    } else if (strcmp(route, "dlsym") == 0) {
        alloc = (alloc_fn)dlsym(driver, "cuMemAlloc_v2");
        release = (free_fn)dlsym(driver, "cuMemFree_v2");
    } else if (strcmp(route, "proc") == 0) {
        CUdriverProcAddressQueryResult status;
        CHECK(cuGetProcAddress("cuMemAlloc", (void **)&alloc, 12000, 0, &status));
        CHECK(cuGetProcAddress("cuMemFree", (void **)&release, 12000, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM,
                               &status));
    } else if (strcmp(route, "entry") == 0) {
        CHECK(cudaGetDriverEntryPointByVersion("cuMemAlloc", (void **)&alloc, 12000, cudaEnableDefault, &found));
        CHECK(cudaGetDriverEntryPointByVersion("cuMemFree", (void **)&release, 12000, cudaEnableDefault, &found));
    }
    use_route(alloc, release);
}

/* ---- the contract --------------------------------------------------------------------------------- */

static void contract(void)
{
    void *p = (void *)0x1234, *q;
    char host[64];
    size_t pitch = 0, free_bytes, total;
    SHOW(cudaMalloc(NULL, 100));
    SHOW(cudaGetLastError());
    SHOW(cudaMalloc(&p, 0));
    SHOW(p == NULL);
    SHOW(cudaFree(NULL));
    p = (void *)0x1234;
    SHOW(cudaMalloc(&p, SIZE_MAX));
    SHOW(cudaPeekAtLastError());
    SHOW(p == (void *)0x1234);
    SHOW(cudaMalloc(&p, (size_t)1 << 45));
    SHOW(cudaMalloc(&p, 100));
    SHOW(cudaGetLastError());
    SHOW((uintptr_t)p % 256);
    SHOW(cudaFree((char *)p + 256));
    SHOW(cudaGetLastError());
    SHOW(cudaFree(p));
    SHOW(cudaFree(p));
    SHOW(cudaGetLastError());
    SHOW(cudaFree(host));
    SHOW(cudaGetLastError());
    SHOW(cudaMallocPitch(&p, &pitch, 700, 9));
    SHOW(pitch);
    SHOW(cudaFree(p));
    SHOW(cudaMallocPitch(&p, &pitch, 0, 9));
    SHOW(cudaMemGetInfo(&free_bytes, &total));
    SHOW(cudaMallocAsync(&p, 0, 0));
    SHOW(cudaMallocAsync(&p, 4096, 0));
    SHOW(cudaFreeAsync(p, 0));
    SHOW(cudaMallocAsync(&p, 4096, 0));
    SHOW(cudaStreamSynchronize(0));
    SHOW(cudaFree(p));
    SHOW(cudaMalloc(&p, 4096));
    SHOW(cudaFreeAsync(p, 0));
    SHOW(cudaGetLastError());
    SHOW(cudaMallocManaged(&p, 4096));
    SHOW(cudaFree(p));
    SHOW(cudaMallocHost(&q, 4096));
    SHOW(cudaFree(q));
    SHOW(cudaGetLastError());
    SHOW(cudaFreeHost(q));
    SHOW(cudaGetLastError());
    CUdeviceptr base;
    size_t bytes;
    CHECK(cudaMalloc(&p, 100000));
    SHOW(cuMemGetAddressRange(&base, &bytes, (CUdeviceptr)p + 50000));
    SHOW(base == (CUdeviceptr)p);
    SHOW(bytes);
    cudaPointerAttributes attributes;
    SHOW(cudaPointerGetAttributes(&attributes, p));
    SHOW(attributes.type);
    SHOW(attributes.device);
    CHECK(cudaFree(p));
    SHOW(cudaDeviceReset());
    SHOW(cudaFree(p));
    SHOW(cudaMalloc(&p, 100));
    SHOW(cudaFree(p));
}

/* ---- memory in use by the GPU ---------------------------------------------------------------------- */

/* Allocates and frees in its inner loop while kernels run: N rounds on so many streams (0: the legacy one). */
static void inner(int rounds, int n_streams)
{
    cudaStream_t streams[8] = {0};
    unsigned long long *total, result;
    const size_t n = 4 * MIB;
    CHECK(cudaMalloc(&total, 8));
    CHECK(cudaMemset(total, 0, 8));
    for (int i = 0; i < n_streams; i++)
        CHECK(cudaStreamCreateWithFlags(&streams[i], cudaStreamNonBlocking));
    CHECK(cudaDeviceSynchronize());
    double begin = now();
    for (int i = 0; i < rounds; i++) {
        cudaStream_t s = n_streams ? streams[i % n_streams] : 0;
        unsigned *p, *q;
        CHECK(cudaMalloc(&p, n * 4));
        CHECK(cudaMalloc(&q, n * 4 + (size_t)(i % 7) * MIB));
        fill<<<64, 256, 0, s>>>(p, n, (unsigned)i);
        fill<<<64, 256, 0, s>>>(q, n, (unsigned)i * 3);
        sum<<<64, 256, 0, s>>>(p, n, total, 200000);
        sum<<<64, 256, 0, s>>>(q, n, total, 0);
        CHECK(cudaFree(p));
        CHECK(cudaFree(q));
    }
    CHECK(cudaDeviceSynchronize());
    fprintf(stderr, "time %.6f\n", now() - begin);
    CHECK(cudaMemcpy(&result, total, 8, cudaMemcpyDeviceToHost));
    printf("sum %llu\n", result);
}

/* A cached pair. */
static void pairs(int n)
{
    void *p;
    for (int i = 0; i < 100; i++) {
        CHECK(cudaMalloc(&p, MIB));
        CHECK(cudaFree(p));
    }
    double best = 1e9;
    for (int round = 0; round < 7; round++) {
        double begin = now();
        for (int i = 0; i < n; i++) {
            cudaMalloc(&p, MIB);
            cudaFree(p);
        }
        double each = (now() - begin) / n * 1e9;
        best = each < best ? each : best;
    }
    fprintf(stderr, "time %.1f\n", best);
    printf("pairs\n");
}

static void once(void)
{
    unsigned *p;
    double begin = now();
    CHECK(cudaMalloc(&p, 64 * MIB));
    for (int i = 0; i < 2000; i++)
        fill<<<64, 256>>>(p, 16 * MIB, (unsigned)i);
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFree(p));
    fprintf(stderr, "time %.6f\n", now() - begin);
    printf("once\n");
}

/* ---- others ---------------------------------------------------------------------------------------- */

/* R36: the cache holds nearly everything, and others ask the driver. */
static void others(void)
{
    size_t free_bytes, total;
    void *p, *q;
    cudaArray_t array;
    CHECK(cudaMemGetInfo(&free_bytes, &total));
    CHECK(cudaMalloc(&p, free_bytes / 100 * 95));
    CHECK(cudaFree(p));
    CHECK(cudaMallocManaged(&q, 512 * MIB));
    CHECK(cudaMemset(q, 1, 512 * MIB));
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFree(q));
    CHECK(cudaMalloc(&p, free_bytes / 100 * 95));
    CHECK(cudaFree(p));
    cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    CHECK(cudaMallocArray(&array, &format, 16384, 16384));
    CHECK(cudaFreeArray(array));
    printf("others\n");
}

/* CUDA IPC: a child opens, checks and changes the parent's second block. */
static int ipc_child(int from, int to)
{
    cudaIpcMemHandle_t handle;
    unsigned *p, value;
    if (read(from, &handle, sizeof(handle)) != (ssize_t)sizeof(handle))
        return 2;
    CHECK(cudaIpcOpenMemHandle((void **)&p, handle, cudaIpcMemLazyEnablePeerAccess));
    CHECK(cudaMemcpy(&value, p + 1000, 4, cudaMemcpyDeviceToHost));
    if (value != 1007)
        return 3;
    fill<<<64, 256>>>(p, 128 * 1024, 9);
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaIpcCloseMemHandle(p));
    return write(to, "x", 1) != 1;
}

static void ipc(void)
{
    int there[2], back[2], status;
    unsigned *p, *q, value;
    char done;
    if (pipe(there) || pipe(back))
        exit(1);
    pid_t pid = fork();
    if (pid == 0)
        exit(ipc_child(there[0], back[1]));
    cudaIpcMemHandle_t handle;
    CHECK(cudaMalloc(&q, 4 * MIB));
    CHECK(cudaMalloc(&p, 4 * MIB));
    fill<<<64, 256>>>(p, 128 * 1024, 7);
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaIpcGetMemHandle(&handle, p));
    if (write(there[1], &handle, sizeof(handle)) != (ssize_t)sizeof(handle) || (close(back[1]), read(back[0], &done, 1)) != 1)
        exit(1);
    waitpid(pid, &status, 0);
    CHECK(cudaMemcpy(&value, p + 1000, 4, cudaMemcpyDeviceToHost));
    printf("ipc %d %u\n", status, value);
}

/* A graph that was captured beside allocations, replayed. */
static void capture(void)
{
    cudaStream_t s;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    unsigned *p, *q;
    unsigned long long *total, result;
    CHECK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    CHECK(cudaMalloc(&p, 4 * MIB));
    CHECK(cudaMalloc(&total, 8));
    CHECK(cudaMemset(total, 0, 8));
    CHECK(cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal));
    fill<<<64, 256, 0, s>>>(p, MIB, 5);
    sum<<<64, 256, 0, s>>>(p, MIB, total, 0);
    CHECK(cudaMallocAsync(&q, MIB, s));
    CHECK(cudaFreeAsync(q, s));
    CHECK(cudaStreamEndCapture(s, &graph));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    for (int i = 0; i < 10; i++) {
        CHECK(cudaMalloc(&q, (size_t)(i + 1) * MIB));
        CHECK(cudaGraphLaunch(exec, s));
        CHECK(cudaFree(q));
    }
    CHECK(cudaStreamSynchronize(s));
    CHECK(cudaMemcpy(&result, total, 8, cudaMemcpyDeviceToHost));
    printf("capture %llu\n", result);
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";
    int n = argc > 2 ? atoi(argv[2]) : 0;
    if (strcmp(mode, "contract") == 0)
        contract();
    else if (strcmp(mode, "inner") == 0)
        inner(n, 0);
    else if (strcmp(mode, "streams") == 0)
        inner(n, 4);
    else if (strcmp(mode, "pairs") == 0)
        pairs(n);
    else if (strcmp(mode, "once") == 0)
        once();
    else if (strcmp(mode, "others") == 0)
        others();
    else if (strcmp(mode, "ipc") == 0)
        ipc();
    else if (strcmp(mode, "capture") == 0)
        capture();
    else
        routes(mode);
    return 0;
}
