/*
 * The driver's two allocators: cuMemAlloc, which caches nothing, and what stands behind cudaMallocAsync,
 * the device's default pool, told to keep all memory (release threshold at maximum) as its
 * documentation advises for speed.
 */
#include "bench/contestant.h"
#include "bench/failure.h"

#define POOL_RELEASE_THRESHOLD 4 /* CU_MEMPOOL_ATTR_RELEASE_THRESHOLD */

static struct {
    const struct xs_gpu *gpu;
    void *pool; /* NULL: the simulator has none */
} driver;

static int with_threshold(uint64_t bytes)
{
    return driver.pool == NULL ? 0
                               : driver.gpu->pool_set(driver.pool, POOL_RELEASE_THRESHOLD, &bytes);
}

static bool open_mem_alloc(const struct xs_gpu *gpu, const char *conf)
{
    (void)conf;
    driver.gpu = gpu;
    return true;
}

static void close_mem_alloc(void)
{
    driver.gpu = NULL;
}

static int mem_alloc(void **ptr, size_t bytes, xseg_stream stream)
{
    (void)stream;
    return driver.gpu->mem_alloc(ptr, bytes);
}

static int mem_free(void *ptr, size_t bytes, xseg_stream stream)
{
    (void)bytes;
    (void)stream;
    return driver.gpu->mem_free(ptr);
}

static bool open_async(const struct xs_gpu *gpu, const char *conf)
{
    (void)conf;
    driver.gpu = gpu;
    driver.pool = NULL;
    if (gpu->mem_alloc_async == NULL || gpu->mem_free_async == NULL)
        return xs_bench_fail("the driver has no cuMemAllocAsync");
    if (gpu->pool_default == NULL || gpu->pool_set == NULL)
        return true;
    int code = gpu->pool_default(&driver.pool, gpu->device);
    if (code == 0)
        code = with_threshold(UINT64_MAX);
    return code == 0 || xs_bench_fail("the device's default pool: error %d", code);
}

static void trim_async(void)
{
    driver.gpu->context_wait();
    if (driver.pool != NULL && driver.gpu->pool_trim != NULL)
        driver.gpu->pool_trim(driver.pool, 0);
}

static void close_async(void)
{
    trim_async();
    with_threshold(0);
    driver.pool = NULL;
    driver.gpu = NULL;
}

static int alloc_async(void **ptr, size_t bytes, xseg_stream stream)
{
    return driver.gpu->mem_alloc_async(ptr, bytes, stream);
}

static int free_async(void *ptr, size_t bytes, xseg_stream stream)
{
    (void)bytes;
    return driver.gpu->mem_free_async(ptr, stream);
}

const struct xs_contestant xs_contestant_mem_alloc = {
    .name = "cuMemAlloc",
    .open = open_mem_alloc,
    .close = close_mem_alloc,
    .alloc = mem_alloc,
    .free = mem_free,
};

const struct xs_contestant xs_contestant_async = {
    .name = "cudaMallocAsync",
    .open = open_async,
    .close = close_async,
    .alloc = alloc_async,
    .free = free_async,
    .trim = trim_async,
};
