/* The simulator: memory shared with another device or process, pools, pitch, managed memory, a context that is reset. */
#include "test_sim_driver.h"

static xs_cu_ptr map(xs_cu_mem mem, size_t bytes)
{
    xs_cu_ptr va = reserve(bytes);
    ok(cu.cuMemMap(va, bytes, 0, mem, 0));
    ok(set_access(va, bytes, XS_CU_ACCESS_READWRITE));
    return va;
}

static void imported_memory_is_the_same_memory(void **state)
{
    (void)state;
    int file;
    xs_cu_mem first = create(GRANULE), mem = create(3 * GRANULE), again;
    ok(cu.cuMemExportToShareableHandle(&file, mem, XS_CU_HANDLE_POSIX_FD, 0));
    ok(cu.cuMemImportFromShareableHandle(&again, (void *)(intptr_t)file, XS_CU_HANDLE_POSIX_FD));
    close(file);
    xs_cu_ptr a = map(mem, 3 * GRANULE), b = map(again, 3 * GRANULE);
    unsigned char got = 0;
    ok(cu.cuMemsetD8_v2(a + 2 * GRANULE, 77, GRANULE));
    ok(cu.cuMemcpyDtoH_v2(&got, b + 3 * GRANULE - 1, 1));
    assert_int_equal(got, 77);
    unmap_all(a, 3 * GRANULE);
    ok(cu.cuMemRelease(mem));
    unmap_all(b, 3 * GRANULE);
    ok(cu.cuMemRelease(again));
    ok(cu.cuMemRelease(first));
}

static void what_is_no_descriptor_of_memory_is_refused(void **state)
{
    (void)state;
    xs_cu_mem mem = create(GRANULE), again;
    int file;
    refused(XS_CUDA_ERROR_INVALID_VALUE,
            cu.cuMemImportFromShareableHandle(&again, (void *)(intptr_t)-1, XS_CU_HANDLE_POSIX_FD));
    refused(XS_CUDA_ERROR_INVALID_VALUE,
            cu.cuMemExportToShareableHandle(NULL, mem, XS_CU_HANDLE_POSIX_FD, 0));
    refused(XS_CUDA_ERROR_INVALID_VALUE,
            cu.cuMemExportToShareableHandle(&file, mem + 999, XS_CU_HANDLE_POSIX_FD, 0));
    fails(XS_CUDA_ERROR_NOT_SUPPORTED,
          cu.cuMemExportToShareableHandle(&file, mem, XS_CU_HANDLE_FABRIC, 0));
    ok(cu.cuMemRelease(mem));
    sim.clear_violations();
}

static void pools_are_the_default_ones(void **state)
{
    (void)state;
    void *pool;
    xs_cu_ptr va;
    ok(cu.cuDeviceGetDefaultMemPool(&pool, 0));
    ok(cu.cuDeviceSetMemPool(0, pool));
    ok(cu.cuMemAllocFromPoolAsync(&va, 4096, pool, NULL));
    ok(cu.cuMemFreeAsync(va, NULL));
    refused(XS_CUDA_ERROR_INVALID_VALUE, cu.cuMemAllocFromPoolAsync(&va, 4096, &pool, NULL));
    refused(XS_CUDA_ERROR_INVALID_VALUE, cu.cuDeviceSetMemPool(0, &pool));
    sim.clear_violations();
}

static void pitches_are_multiples_of_512(void **state)
{
    (void)state;
    xs_cu_ptr va;
    size_t pitch;
    ok(cu.cuMemAllocPitch_v2(&va, &pitch, 513, 10, 4));
    assert_int_equal(pitch, 1024);
    ok(cu.cuMemFree_v2(va));
    fails(XS_CUDA_ERROR_OUT_OF_MEMORY, cu.cuMemAllocPitch_v2(&va, &pitch, SIZE_MAX, 10, 4));
    refused(XS_CUDA_ERROR_INVALID_VALUE, cu.cuMemAllocPitch_v2(&va, &pitch, 10, 10, 3));
    ok(cu.cuMemAllocManaged(&va, 100, 1));
    ok(cu.cuMemFree_v2(va));
    refused(XS_CUDA_ERROR_INVALID_VALUE, cu.cuMemAllocManaged(&va, 100, 3));
    sim.clear_violations();
}

static void a_reset_context_has_nothing_left(void **state)
{
    (void)state;
    xs_cu_ptr va;
    struct xs_sim_live live;
    ok(cu.cuMemAlloc_v2(&va, 4096));
    ok(cu.cuDevicePrimaryCtxReset_v2(0));
    sim.live(&live);
    assert_int_equal(live.allocs, 0);
    ok(cu.cuMemAlloc_v2(&va, 4096));
    ok(cu.cuMemFree_v2(va));
}

static void a_device_is_no_peer_of_itself(void **state)
{
    (void)state;
    fails(XS_CUDA_ERROR_INVALID_DEVICE, cu.cuCtxEnablePeerAccess(primary, 0));
    refused(XS_CUDA_ERROR_INVALID_VALUE, cu.cuCtxEnablePeerAccess(primary, 1));
    refused(XS_CUDA_ERROR_INVALID_CONTEXT, cu.cuCtxDisablePeerAccess(NULL));
    sim.clear_violations();
}

int main(void)
{
#define CLEAN(test) cmocka_unit_test_teardown(test, check_clean)
    const struct CMUnitTest tests[] = {
        CLEAN(imported_memory_is_the_same_memory),
        CLEAN(what_is_no_descriptor_of_memory_is_refused),
        CLEAN(pools_are_the_default_ones),
        CLEAN(pitches_are_multiples_of_512),
        CLEAN(a_reset_context_has_nothing_left),
        CLEAN(a_device_is_no_peer_of_itself),
    };
    load_simulator();
    return cmocka_run_group_tests(tests, start_driver, NULL);
}
