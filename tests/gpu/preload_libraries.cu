/* Libraries over the preload: cuBLAS, and Thrust, which allocates temporary memory in each call. Prints sums. */
#include <cublas_v2.h>
#include <cuda_runtime.h>
#include <thrust/device_vector.h>
#include <thrust/reduce.h>
#include <thrust/sequence.h>
#include <thrust/sort.h>

#include <cstdio>
#include <cstring>

static int use_cublas(void)
{
    const int n = 1024;
    cublasHandle_t handle;
    float *a, *b, *c, one = 1, zero = 0, sum;
    if (cublasCreate(&handle))
        return 1;
    std::vector<float> host((size_t)n * n);
    for (size_t i = 0; i < host.size(); i++)
        host[i] = (float)(i % 13) - 6;
    for (int round = 0; round < 20; round++) {
        size_t bytes = host.size() * sizeof(float);
        if (cudaMalloc(&a, bytes) || cudaMalloc(&b, bytes) || cudaMalloc(&c, bytes))
            return 1;
        cudaMemcpy(a, host.data(), bytes, cudaMemcpyHostToDevice);
        cudaMemcpy(b, host.data(), bytes, cudaMemcpyHostToDevice);
        if (cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one, a, n, b, n, &zero, c, n) ||
            cublasSasum(handle, n * n, c, 1, &sum))
            return 1;
        cudaFree(a);
        cudaFree(b);
        cudaFree(c);
    }
    cublasDestroy(handle);
    printf("cublas %.1f\n", sum);
    return 0;
}

static int use_thrust(void)
{
    unsigned long long sum = 0;
    for (int round = 0; round < 50; round++) {
        thrust::device_vector<unsigned> v(1 << 20);
        thrust::sequence(v.begin(), v.end());
        thrust::sort(v.begin(), v.end(), thrust::greater<unsigned>());
        sum += thrust::reduce(v.begin(), v.begin() + 1000 + round, 0ull);
    }
    printf("thrust %llu\n", sum);
    return 0;
}

int main(int argc, char **argv)
{
    return argc > 1 && strcmp(argv[1], "cublas") == 0 ? use_cublas() : use_thrust();
}
