/* What the CUDA programs of this folder share. */
#ifndef XS_TEST_GPU_CHECK_CUH
#define XS_TEST_GPU_CHECK_CUH

#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>

#define CHECK(call)                                                                                \
    do {                                                                                           \
        int code_ = (int)(call);                                                                   \
        if (code_) {                                                                               \
            printf("%s:%d: %s: %d\n", __FILE__, __LINE__, #call, code_);                           \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

static const size_t MIB = (size_t)1 << 20;

static __global__ void fill(unsigned *p, size_t n, unsigned value)
{
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += gridDim.x * (size_t)blockDim.x)
        p[i] = value + (unsigned)i;
}

/* Adds up what fill() has written, after a while. */
static __global__ void sum(const unsigned *p, size_t n, unsigned long long *out, long long cycles)
{
    unsigned long long s = 0;
    long long begin = clock64();
    while (clock64() - begin < cycles)
        ;
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += gridDim.x * (size_t)blockDim.x)
        s += p[i];
    atomicAdd(out, s);
}

#endif
