/*
 * Two devices, in a program that knows nothing of xseg: what it prints must be the same with and without the preload.
 *
 *   preload_devices peers | ipc     exit status 77 where there is but one device
 */
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>

#include "check.cuh"

static const size_t WORDS = 16 * MIB;

static unsigned *filled(int device, unsigned value)
{
    unsigned *p;
    CHECK(cudaSetDevice(device));
    CHECK(cudaMalloc(&p, WORDS * 4));
    fill<<<256, 256>>>(p, WORDS, value);
    CHECK(cudaDeviceSynchronize());
    return p;
}

/* By a kernel of the device that is current. */
static unsigned long long sum_of(const unsigned *p)
{
    unsigned long long *total, result;
    CHECK(cudaMalloc(&total, 8));
    CHECK(cudaMemset(total, 0, 8));
    sum<<<256, 256>>>(p, WORDS, total, 0);
    CHECK(cudaMemcpy(&result, total, 8, cudaMemcpyDeviceToHost));
    CHECK(cudaFree(total));
    return result;
}

/* Memory of before and after access is enabled; a copy between the devices; access that has been taken away. */
static void peers(void)
{
    int can = 0;
    unsigned *before = filled(0, 1), *copy = filled(1, 5);
    CHECK(cudaDeviceCanAccessPeer(&can, 1, 0));
    printf("can access: %d\n", can);
    if (can) {
        CHECK(cudaSetDevice(1));
        CHECK(cudaDeviceEnablePeerAccess(0, 0));
        printf("before: %llu\n", sum_of(before));
        unsigned *after = filled(0, 2);
        CHECK(cudaSetDevice(1));
        printf("after: %llu\n", sum_of(after));
        fill<<<256, 256>>>(after, WORDS, 3);
        CHECK(cudaDeviceSynchronize());
        CHECK(cudaSetDevice(0));
        printf("written by the other: %llu\n", sum_of(after));
        CHECK(cudaFree(after));
        CHECK(cudaSetDevice(1));
        CHECK(cudaDeviceDisablePeerAccess(0));
        printf("once more: %d\n", (int)cudaDeviceDisablePeerAccess(0));
        cudaGetLastError();
    }
    CHECK(cudaMemcpyPeer(copy, 1, before, 0, WORDS * 4));
    CHECK(cudaSetDevice(1));
    printf("copied: %llu\n", sum_of(copy));
    CHECK(cudaFree(before)); /* the other device's, while this one is current */
    CHECK(cudaFree(copy));
}

/* ---- IPC: the one process has it on device 0, the other one opens it on device 1 ---------------------- */

static int opens(int from, int to)
{
    cudaIpcMemHandle_t handle;
    unsigned *p;
    if (read(from, &handle, sizeof(handle)) != (ssize_t)sizeof(handle))
        return 2;
    CHECK(cudaSetDevice(1));
    CHECK(cudaIpcOpenMemHandle((void **)&p, handle, cudaIpcMemLazyEnablePeerAccess));
    printf("opened: %llu\n", sum_of(p));
    fill<<<256, 256>>>(p, WORDS, 9);
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaIpcCloseMemHandle(p));
    fflush(stdout);
    return write(to, "x", 1) != 1;
}

static void ipc(void)
{
    int there[2], back[2], status;
    char done;
    cudaIpcMemHandle_t handle;
    if (pipe(there) || pipe(back))
        exit(1);
    pid_t pid = fork();
    if (pid == 0)
        exit(opens(there[0], back[1]));
    close(back[1]);
    unsigned *p = filled(0, 7);
    CHECK(cudaIpcGetMemHandle(&handle, p));
    if (write(there[1], &handle, sizeof(handle)) != (ssize_t)sizeof(handle) || read(back[0], &done, 1) != 1)
        exit(1);
    waitpid(pid, &status, 0);
    printf("written by the other: %d %llu\n", status, sum_of(p));
    CHECK(cudaFree(p));
}

/* In a process of its own: CUDA must not be in use before a fork. */
static int count_devices(void)
{
    int status;
    pid_t pid = fork();
    if (pid == 0) {
        int n = 0;
        cudaGetDeviceCount(&n);
        _exit(n);
    }
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 0;
}

int main(int argc, char **argv)
{
    if (count_devices() < 2)
        return 77;
    if (argc == 2 && strcmp(argv[1], "ipc") == 0)
        ipc();
    else
        peers();
    return 0;
}
