/*
 * Under compute-sanitizer, with the preload and without (report R91):
 *
 *   preload_sanitizer overrun    a kernel writes one byte behind a block of 1000
 *   preload_sanitizer border     plain and bulk copies in one block, across every border of 2 MiB: nothing is wrong
 */
#include <cstdint>
#include <cstring>

#include "check.cuh"

static __global__ void put(unsigned char *p, size_t at)
{
    p[at] = 1;
}

static void overrun(void)
{
    unsigned char *p;
    CHECK(cudaMalloc(&p, 1000));
    put<<<1, 1>>>(p, 1000);
    printf("overrun %d\n", (int)cudaDeviceSynchronize());
}

#define PIECE 256

/* One piece by the copy engine of the multiprocessor; the first thread alone. */
static __device__ void copy_bulk(unsigned char *to, const unsigned char *from, uint64_t *barrier)
{
#if __CUDA_ARCH__ >= 900
    unsigned there = (unsigned)__cvta_generic_to_shared(to), b = (unsigned)__cvta_generic_to_shared(barrier);
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(b));
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(b), "n"(PIECE) : "memory");
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(there),
                 "l"(from), "n"(PIECE), "r"(b)
                 : "memory");
    asm volatile("{\n.reg .pred done;\nagain:\nmbarrier.try_wait.parity.shared::cta.b64 done, [%0], 0;\n@!done bra again;\n}" ::"r"(b)
                 : "memory");
    asm volatile("mbarrier.inval.shared::cta.b64 [%0];" ::"r"(b) : "memory");
#else
    for (unsigned i = 0; i < PIECE; i++)
        to[i] = from[i];
#endif
}

/* A block for each border: the piece that lies across it. */
static __global__ void across(const unsigned char *p, size_t every, unsigned long long *total)
{
    __shared__ alignas(128) unsigned char piece[PIECE];
    __shared__ alignas(8) uint64_t barrier;
    copy_bulk(piece, p + (blockIdx.x + 1) * every - PIECE / 2, &barrier);
    unsigned long long s = 0;
    for (unsigned i = 0; i < PIECE; i++)
        s += piece[i];
    atomicAdd(total, s);
}

static void border(void)
{
    const size_t bytes = 200 * MIB;
    unsigned char *p;
    unsigned long long *total, result;
    CHECK(cudaMalloc(&p, bytes));
    CHECK(cudaMalloc(&total, 8));
    CHECK(cudaMemset(total, 0, 8));
    fill<<<256, 256>>>((unsigned *)p, bytes / 4, 1);
    across<<<bytes / (2 * MIB) - 1, 1>>>(p, 2 * MIB, total);
    CHECK(cudaMemcpy(&result, total, 8, cudaMemcpyDeviceToHost));
    printf("border %llu\n", result);
    CHECK(cudaFree(p));
    CHECK(cudaFree(total));
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "border") == 0)
        border();
    else
        overrun();
    return 0;
}
