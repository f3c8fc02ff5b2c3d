/* The simulator's memory: extents, mappings, reservations, cuMemAlloc, settings, ledger. */
#include "test_sim_driver.h"

/* ---- mapping moves bytes about -------------------------------------------------------------- */

static void data_survives_a_move_to_another_address(void **state)
{
    (void)state;
    const xs_cu_ptr va = reserve(4 * GRANULE);
    const xs_cu_mem mem = create(GRANULE);
    ok(cu.cuMemMap(va, GRANULE, 0, mem, 0));
    ok(set_access(va, GRANULE, XS_CU_ACCESS_READWRITE));
    memset(host(va), 0x5a, GRANULE);
    ok(cu.cuMemUnmap(va, GRANULE));

    const xs_cu_ptr to = va + 2 * GRANULE;
    ok(cu.cuMemMap(to, GRANULE, 0, mem, 0));
    ok(set_access(to, GRANULE, XS_CU_ACCESS_READ));
    assert_int_equal(host(to)[0], 0x5a);
    assert_int_equal(host(to)[GRANULE - 1], 0x5a);

    ok(cu.cuMemUnmap(to, GRANULE));
    ok(cu.cuMemRelease(mem));
    ok(cu.cuMemAddressFree(va, 4 * GRANULE));
}

static void one_handle_at_two_addresses_shares_its_bytes(void **state)
{
    (void)state;
    const xs_cu_ptr va = reserve(2 * GRANULE);
    const xs_cu_mem mem = create(GRANULE);
    ok(cu.cuMemMap(va, GRANULE, 0, mem, 0));
    ok(cu.cuMemMap(va + GRANULE, GRANULE, 0, mem, 0));
    ok(set_access(va, 2 * GRANULE, XS_CU_ACCESS_READWRITE));
    host(va)[123] = 77;
    assert_int_equal(host(va + GRANULE)[123], 77);
    ok(cu.cuMemRelease(mem));
    unmap_all(va, 2 * GRANULE);
}

static void released_memory_stays_until_it_is_unmapped(void **state)
{
    (void)state;
    struct xs_sim_live live;
    const xs_cu_ptr va = map_new(GRANULE);
    host(va)[0] = 1;
    sim.live(&live);
    assert_int_equal(live.handles, 0);
    assert_int_equal(live.mappings, 1);
    assert_int_equal(live.used_bytes, GRANULE);
    ok(cu.cuMemUnmap(va, GRANULE));
    sim.live(&live);
    assert_int_equal(live.used_bytes, 0);
    ok(cu.cuMemAddressFree(va, GRANULE));
}

static void fresh_memory_is_zero_though_offsets_are_reused(void **state)
{
    (void)state;
    xs_cu_ptr va = map_new(GRANULE);
    memset(host(va), 0xff, GRANULE);
    unmap_all(va, GRANULE);
    va = map_new(GRANULE);
    assert_int_equal(host(va)[0], 0);
    assert_int_equal(host(va)[GRANULE - 1], 0);
    unmap_all(va, GRANULE);
}

static void one_call_unmaps_or_opens_many_handles(void **state)
{
    (void)state;
    const xs_cu_ptr va = reserve(7 * GRANULE);
    for (size_t i = 0, at = 0; i < 3; at += GRANULE << i++) {
        const xs_cu_mem mem = create(GRANULE << i);
        ok(cu.cuMemMap(va + at, GRANULE << i, 0, mem, 0));
        ok(cu.cuMemRelease(mem));
    }
    ok(set_access(va, 7 * GRANULE, XS_CU_ACCESS_READWRITE));
    memset(host(va), 1, 7 * GRANULE);
    unmap_all(va, 7 * GRANULE);
}

static void access_is_kept_for_each_mapping(void **state)
{
    (void)state;
    const struct xs_cu_location where = {XS_CU_LOCATION_DEVICE, 0};
    unsigned long long flags = 9;
    const xs_cu_ptr va = map_new(GRANULE);
    ok(cu.cuMemGetAccess(&flags, &where, va + 5));
    assert_int_equal(flags, XS_CU_ACCESS_READWRITE);
    ok(set_access(va, GRANULE, XS_CU_ACCESS_NONE));
    ok(cu.cuMemGetAccess(&flags, &where, va));
    assert_int_equal(flags, XS_CU_ACCESS_NONE);
    unmap_all(va, GRANULE);
}

/* ---- reservations ---------------------------------------------------------------------------- */

static void reservations_are_aligned_and_repeat_themselves(void **state)
{
    (void)state;
    const xs_cu_ptr a = reserve(GRANULE), b = reserve(3 * GRANULE);
    xs_cu_ptr c;
    assert_int_equal(a % GRANULE, 0);
    assert_int_equal(b % GRANULE, 0);
    ok(cu.cuMemAddressReserve(&c, GRANULE, 64 * XS_MIB, 0, 0));
    assert_int_equal(c % (64 * XS_MIB), 0);
    ok(cu.cuMemAddressFree(a, GRANULE));
    assert_int_equal(reserve(GRANULE), a);
    ok(cu.cuMemAddressFree(a, GRANULE));
    ok(cu.cuMemAddressFree(b, 3 * GRANULE));
    ok(cu.cuMemAddressFree(c, GRANULE));
}

static void a_free_hint_is_taken(void **state)
{
    (void)state;
    xs_cu_ptr va, again;
    const xs_cu_ptr first = reserve(GRANULE), hint = first + 512 * GRANULE;
    ok(cu.cuMemAddressReserve(&va, GRANULE, 0, hint, 0));
    assert_int_equal(va, hint);
    ok(cu.cuMemAddressReserve(&again, GRANULE, 0, hint, 0));
    assert_int_not_equal(again, hint);
    ok(cu.cuMemAddressFree(first, GRANULE));
    ok(cu.cuMemAddressFree(va, GRANULE));
    ok(cu.cuMemAddressFree(again, GRANULE));
}

/* The thread sanitizer leaves a program less than a terabyte in one piece. */
#ifdef __SANITIZE_THREAD__
#define LOTS (64 * XS_GIB)
#else
#define LOTS (4096 * XS_GIB)
#endif

static void terabytes_of_address_space_are_free(void **state)
{
    (void)state;
    const xs_cu_ptr va = reserve(LOTS), end = va + LOTS - GRANULE;
    const xs_cu_mem mem = create(GRANULE);
    ok(cu.cuMemMap(end, GRANULE, 0, mem, 0));
    ok(cu.cuMemUnmap(end, GRANULE));
    ok(cu.cuMemRelease(mem));
    ok(cu.cuMemAddressFree(va, LOTS));
}

/* ---- misuse ---------------------------------------------------------------------------------- */

static void misuse_of_create_is_refused(void **state)
{
    (void)state;
    const int invalid = XS_CUDA_ERROR_INVALID_VALUE;
    struct xs_cu_alloc_prop prop = device_memory(0);
    xs_cu_mem mem = 0;
    refused(invalid, cu.cuMemCreate(NULL, GRANULE, &prop, 0));
    refused(invalid, cu.cuMemCreate(&mem, GRANULE, NULL, 0));
    refused(invalid, cu.cuMemCreate(&mem, 0, &prop, 0));
    refused(invalid, cu.cuMemCreate(&mem, GRANULE + 4096, &prop, 0));
    refused(invalid, cu.cuMemCreate(&mem, GRANULE, &prop, 1));
    refused(invalid, cu.cuMemRelease(0));
    refused(invalid, cu.cuMemRelease(12345));
    prop.location.id = 7;
    refused(XS_CUDA_ERROR_INVALID_DEVICE, cu.cuMemCreate(&mem, GRANULE, &prop, 0));
    prop = device_memory(0);
    prop.requested_handle_types = XS_CU_HANDLE_FABRIC;
    fails(XS_CUDA_ERROR_NOT_PERMITTED, cu.cuMemCreate(&mem, GRANULE, &prop, 0));
    prop.requested_handle_types = XS_CU_HANDLE_POSIX_FD;
    ok(cu.cuMemCreate(&mem, GRANULE, &prop, 0));
    ok(cu.cuMemRelease(mem));
    refused(invalid, cu.cuMemRelease(mem));
}

static void a_recycled_handle_slot_does_not_revive_old_handles(void **state)
{
    (void)state;
    const xs_cu_mem old = create(GRANULE);
    ok(cu.cuMemRelease(old));
    const xs_cu_mem new = create(GRANULE);
    assert_int_not_equal(old, new);
    refused(XS_CUDA_ERROR_INVALID_VALUE, cu.cuMemRelease(old));
    ok(cu.cuMemRelease(new));
}

static void misuse_of_map_is_refused(void **state)
{
    (void)state;
    const int invalid = XS_CUDA_ERROR_INVALID_VALUE;
    const xs_cu_ptr va = reserve(4 * GRANULE);
    const xs_cu_mem mem = create(2 * GRANULE);
    refused(invalid, cu.cuMemMap(va, 2 * GRANULE, 0, mem + 1, 0));
    refused(invalid, cu.cuMemMap(va, GRANULE, 0, mem, 0));
    refused(invalid, cu.cuMemMap(va, GRANULE, GRANULE, mem, 0));
    refused(invalid, cu.cuMemMap(va, 0, 0, mem, 0));
    refused(invalid, cu.cuMemMap(va, 2 * GRANULE, 0, mem, 1));
    refused(invalid, cu.cuMemMap(va + 4096, 2 * GRANULE, 0, mem, 0));
    refused(invalid, cu.cuMemMap(va + 3 * GRANULE, 2 * GRANULE, 0, mem, 0));
    refused(invalid, cu.cuMemMap(0, 2 * GRANULE, 0, mem, 0));
    ok(cu.cuMemMap(va, 2 * GRANULE, 0, mem, 0));
    refused(invalid, cu.cuMemMap(va, 2 * GRANULE, 0, mem, 0));
    refused(invalid, cu.cuMemMap(va + GRANULE, 2 * GRANULE, 0, mem, 0));
    assert_non_null(strstr(sim.last_violation(), "cuMemMap: "));
    assert_non_null(strstr(sim.last_violation(), "mapped already"));
    ok(cu.cuMemUnmap(va, 2 * GRANULE));
    ok(cu.cuMemRelease(mem));
    refused(invalid, cu.cuMemMap(va, 2 * GRANULE, 0, mem, 0));
    ok(cu.cuMemAddressFree(va, 4 * GRANULE));
}

static void misuse_of_unmap_and_access_is_refused(void **state)
{
    (void)state;
    const int invalid = XS_CUDA_ERROR_INVALID_VALUE;
    const xs_cu_ptr va = reserve(4 * GRANULE);
    const xs_cu_mem mem = create(2 * GRANULE);
    refused(invalid, cu.cuMemUnmap(va, GRANULE));
    refused(invalid, set_access(va, GRANULE, XS_CU_ACCESS_READWRITE));
    ok(cu.cuMemMap(va + GRANULE, 2 * GRANULE, 0, mem, 0));
    ok(cu.cuMemRelease(mem));
    refused(invalid, cu.cuMemUnmap(va + GRANULE, GRANULE));
    refused(invalid, cu.cuMemUnmap(va + 2 * GRANULE, GRANULE));
    refused(invalid, cu.cuMemUnmap(va, 4 * GRANULE));
    refused(invalid, cu.cuMemUnmap(va, 0));
    refused(invalid, set_access(va, 4 * GRANULE, XS_CU_ACCESS_READWRITE));
    refused(invalid, set_access(va + GRANULE, GRANULE, XS_CU_ACCESS_READWRITE));
    refused(invalid, set_access(va + GRANULE, 2 * GRANULE, 2));
    refused(invalid, cu.cuMemSetAccess(va + GRANULE, 2 * GRANULE, NULL, 1));
    ok(cu.cuMemUnmap(va + GRANULE, 2 * GRANULE));
    refused(invalid, cu.cuMemUnmap(va + GRANULE, 2 * GRANULE));
    ok(cu.cuMemAddressFree(va, 4 * GRANULE));
}

static void misuse_of_reservations_is_refused(void **state)
{
    (void)state;
    const int invalid = XS_CUDA_ERROR_INVALID_VALUE;
    xs_cu_ptr va;
    refused(invalid, cu.cuMemAddressReserve(NULL, GRANULE, 0, 0, 0));
    refused(invalid, cu.cuMemAddressReserve(&va, 0, 0, 0, 0));
    refused(invalid, cu.cuMemAddressReserve(&va, GRANULE + 1, 0, 0, 0));
    refused(invalid, cu.cuMemAddressReserve(&va, GRANULE, 3, 0, 0));
    fails(XS_CUDA_ERROR_OUT_OF_MEMORY, cu.cuMemAddressReserve(&va, (size_t)1 << 60, 0, 0, 0));
    va = map_new(GRANULE);
    refused(invalid, cu.cuMemAddressFree(va, GRANULE));
    ok(cu.cuMemUnmap(va, GRANULE));
    ok(cu.cuMemAddressFree(va, GRANULE));
    refused(invalid, cu.cuMemAddressFree(va, GRANULE));
    va = reserve(2 * GRANULE);
    refused(invalid, cu.cuMemAddressFree(va, GRANULE));
    refused(invalid, cu.cuMemAddressFree(va + GRANULE, GRANULE));
    ok(cu.cuMemAddressFree(va, 2 * GRANULE));
}

static void vmm_calls_may_not_touch_plain_allocations(void **state)
{
    (void)state;
    xs_cu_ptr va;
    ok(cu.cuMemAlloc_v2(&va, 4 * GRANULE));
    refused(XS_CUDA_ERROR_INVALID_VALUE, cu.cuMemUnmap(va, 4 * GRANULE));
    refused(XS_CUDA_ERROR_INVALID_VALUE, cu.cuMemAddressFree(va, 4 * GRANULE));
    ok(cu.cuMemFree_v2(va));
}

static void misuse_of_devices_and_contexts_is_refused(void **state)
{
    (void)state;
    int n;
    xs_cu_device dev;
    xs_cu_context ctx;
    refused(XS_CUDA_ERROR_INVALID_DEVICE, cu.cuDeviceGet(&dev, 1));
    refused(XS_CUDA_ERROR_INVALID_DEVICE, cu.cuDeviceGetAttribute(&n, 102, -1));
    refused(XS_CUDA_ERROR_INVALID_VALUE, cu.cuDeviceGetCount(NULL));
    ok(cu.cuCtxPopCurrent_v2(&ctx));
    fails(XS_CUDA_ERROR_INVALID_CONTEXT, cu.cuCtxGetDevice(&dev));
    refused(XS_CUDA_ERROR_INVALID_CONTEXT, cu.cuCtxSynchronize());
    refused(XS_CUDA_ERROR_INVALID_CONTEXT, cu.cuCtxPopCurrent_v2(NULL));
    ok(cu.cuCtxGetCurrent(&ctx));
    assert_null(ctx);
    ok(cu.cuCtxCreate_v2(&ctx, 0, 0));
    ok(cu.cuCtxPushCurrent_v2(ctx));
    ok(cu.cuCtxDestroy_v2(ctx));
    refused(XS_CUDA_ERROR_CONTEXT_IS_DESTROYED, cu.cuCtxSynchronize());
    refused(XS_CUDA_ERROR_INVALID_CONTEXT, cu.cuCtxPushCurrent_v2(ctx));
    ok(cu.cuCtxSetCurrent(primary));
}

/* ---- plain memory ---------------------------------------------------------------------------- */

static size_t free_bytes(void)
{
    size_t left, total;
    ok(cu.cuMemGetInfo_v2(&left, &total));
    return left;
}

static void allocations_take_whole_granules_and_small_ones_share(void **state)
{
    (void)state;
    xs_cu_ptr va[3], big;
    const size_t before = free_bytes();
    for (int i = 0; i < 3; i++) {
        ok(cu.cuMemAlloc_v2(&va[i], 700));
        assert_int_equal(va[i] % 512, 0);
        memset(host(va[i]), i + 1, 700);
    }
    assert_int_equal(free_bytes(), before - GRANULE);
    assert_int_equal(host(va[0])[699], 1);
    ok(cu.cuMemAlloc_v2(&big, GRANULE + 1));
    assert_int_equal(free_bytes(), before - 3 * GRANULE);
    ok(cu.cuMemFree_v2(big));
    for (int i = 0; i < 3; i++)
        ok(cu.cuMemFree_v2(va[i]));
    assert_int_equal(free_bytes(), before);
}

static void a_bad_free_is_refused(void **state)
{
    (void)state;
    xs_cu_ptr va;
    ok(cu.cuMemAlloc_v2(&va, 4096));
    refused(XS_CUDA_ERROR_INVALID_VALUE, cu.cuMemFree_v2(va + 512));
    ok(cu.cuMemFree_v2(va));
    refused(XS_CUDA_ERROR_INVALID_VALUE, cu.cuMemFree_v2(va));
    ok(cu.cuMemFree_v2(0));
    refused(XS_CUDA_ERROR_INVALID_VALUE, cu.cuMemAlloc_v2(&va, 0));
    refused(XS_CUDA_ERROR_INVALID_VALUE, cu.cuMemAlloc_v2(NULL, 1));
}

static void copies_and_sets_move_real_bytes(void **state)
{
    (void)state;
    xs_cu_ptr a, b;
    uint32_t word[4] = {0};
    ok(cu.cuMemAlloc_v2(&a, 16));
    ok(cu.cuMemAlloc_v2(&b, 16));
    ok(cu.cuMemsetD32Async(a, 0xdeadbeef, 4, NULL));
    ok(cu.cuMemsetD8Async(a + 4, 0x11, 4, NULL));
    ok(cu.cuMemcpyDtoDAsync_v2(b, a, 16, NULL));
    ok(cu.cuMemcpyDtoH_v2(word, b, 16));
    assert_int_equal(word[0], 0xdeadbeef);
    assert_int_equal(word[1], 0x11111111);
    word[0] = 5;
    ok(cu.cuMemcpyHtoD_v2(a, word, 4));
    assert_int_equal(*host(a), 5);
    ok(cu.cuMemFree_v2(a));
    ok(cu.cuMemFree_v2(b));
}

static void pointers_are_told_apart(void **state)
{
    (void)state;
    unsigned type = 0;
    size_t bytes = 0;
    xs_cu_ptr base, va = map_new(2 * GRANULE);
    static char pinned[4096];
    ok(cu.cuPointerGetAttribute(&type, XS_CU_POINTER_MEMORY_TYPE, va + 3));
    assert_int_equal(type, XS_CU_MEMORY_DEVICE);
    ok(cu.cuMemGetAddressRange_v2(&base, &bytes, va + GRANULE));
    assert_int_equal(base, va);
    assert_int_equal(bytes, 2 * GRANULE);
    unmap_all(va, 2 * GRANULE);
    fails(XS_CUDA_ERROR_INVALID_VALUE,
          cu.cuPointerGetAttribute(&type, XS_CU_POINTER_MEMORY_TYPE, va));

    ok(cu.cuMemHostRegister_v2(pinned, sizeof(pinned), 0));
    ok(cu.cuPointerGetAttribute(&type, XS_CU_POINTER_MEMORY_TYPE, (uintptr_t)pinned));
    assert_int_equal(type, XS_CU_MEMORY_HOST);
    refused(XS_CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED,
            cu.cuMemHostRegister_v2(pinned + 8, 8, 0));
    ok(cu.cuMemHostUnregister(pinned));
    refused(XS_CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED, cu.cuMemHostUnregister(pinned));
}

/* ---- ledger ---------------------------------------------------------------------------------- */

static void the_digest_is_the_same_for_the_same_state(void **state)
{
    (void)state;
    const xs_cu_ptr va = reserve(2 * GRANULE);
    const xs_cu_mem mem = create(GRANULE);
    const uint64_t before = sim.digest();
    ok(cu.cuMemMap(va, GRANULE, 0, mem, 0));
    const uint64_t mapped = sim.digest();
    assert_int_not_equal(before, mapped);
    ok(set_access(va, GRANULE, XS_CU_ACCESS_READ));
    assert_int_not_equal(sim.digest(), mapped);
    ok(cu.cuMemUnmap(va, GRANULE));
    assert_int_equal(sim.digest(), before);
    ok(cu.cuMemMap(va + GRANULE, GRANULE, 0, mem, 0));
    assert_int_not_equal(sim.digest(), mapped);
    ok(cu.cuMemRelease(mem));
    ok(cu.cuMemUnmap(va + GRANULE, GRANULE));
    ok(cu.cuMemAddressFree(va, 2 * GRANULE));
}

static void calls_are_counted_and_cost_what_was_measured(void **state)
{
    (void)state;
    const uint64_t creates = sim.calls("cuMemCreate");
    const uint64_t t0 = sim.cost_ns();
    const xs_cu_ptr va = reserve(2 * GRANULE);
    assert_int_equal(sim.cost_ns() - t0, 10000);
    const xs_cu_mem mem[2] = {create(GRANULE), create(GRANULE)};
    const uint64_t t1 = sim.cost_ns();
    assert_int_equal(t1 - t0, 10000 + 2 * 15500);
    for (size_t i = 0; i < 2; i++)
        ok(cu.cuMemMap(va + i * GRANULE, GRANULE, 0, mem[i], 0));
    ok(set_access(va, 2 * GRANULE, XS_CU_ACCESS_READWRITE));
    ok(cu.cuMemUnmap(va, 2 * GRANULE));
    const uint64_t t2 = sim.cost_ns();
    assert_int_equal(t2 - t1, 2 * (1300 + 36000 + 23000));
    for (size_t i = 0; i < 2; i++)
        ok(cu.cuMemRelease(mem[i]));
    assert_int_equal(sim.cost_ns() - t2, 2 * 17000);
    ok(cu.cuMemAddressFree(va, 2 * GRANULE));
    assert_int_equal(sim.calls("cuMemCreate"), creates + 2);
    assert_int_equal(sim.calls("cuNoSuchThing"), 0);
}

static void costs_between_measured_sizes_are_interpolated(void **state)
{
    (void)state;
    const uint64_t t0 = sim.cost_ns();
    const xs_cu_mem big = create(XS_GIB);
    assert_int_equal(sim.cost_ns() - t0, 125000);
    const uint64_t t1 = sim.cost_ns();
    const xs_cu_mem mid = create(384 * XS_MIB);
    assert_int_equal(sim.cost_ns() - t1, 23000);
    ok(cu.cuMemRelease(big));
    ok(cu.cuMemRelease(mid));
}

static void everything_held_is_listed(void **state)
{
    (void)state;
    struct xs_sim_live live;
    xs_cu_ptr alloc, va = reserve(8 * GRANULE);
    const xs_cu_mem mem = create(4 * GRANULE);
    xs_cu_event event;
    xs_cu_stream stream;
    ok(cu.cuMemMap(va, 4 * GRANULE, 0, mem, 0));
    ok(cu.cuMemAlloc_v2(&alloc, 100));
    ok(cu.cuEventCreate(&event, 0));
    ok(cu.cuStreamCreate(&stream, 0));
    sim.live(&live);
    assert_int_equal(live.handles, 1);
    assert_int_equal(live.handle_bytes, 4 * GRANULE);
    assert_int_equal(live.mappings, 1);
    assert_int_equal(live.reservations, 1);
    assert_int_equal(live.reserved_bytes, 8 * GRANULE);
    assert_int_equal(live.allocs, 1);
    assert_int_equal(live.alloc_bytes, 100);
    assert_int_equal(live.events, 1);
    assert_int_equal(live.streams, 1);
    assert_int_equal(live.contexts, 1);
    assert_int_equal(live.used_bytes, 5 * GRANULE);
    ok(cu.cuStreamDestroy_v2(stream));
    ok(cu.cuEventDestroy_v2(event));
    ok(cu.cuMemFree_v2(alloc));
    ok(cu.cuMemRelease(mem));
    ok(cu.cuMemUnmap(va, 4 * GRANULE));
    ok(cu.cuMemAddressFree(va, 8 * GRANULE));
}

static void get_proc_address_finds_the_newest_version(void **state)
{
    (void)state;
    xs_cu_result (*alloc)(xs_cu_ptr *, size_t) = NULL;
    void *fn = NULL;
    int status = -1;
    xs_cu_ptr va;
    ok(cu.cuGetProcAddress_v2("cuMemAlloc", (void **)&alloc, 13000, 0, &status));
    assert_int_equal(status, XS_CU_PROC_FOUND);
    assert_true(alloc == cu.cuMemAlloc_v2);
    ok(alloc(&va, 1));
    ok(cu.cuMemFree_v2(va));
    fails(XS_CUDA_ERROR_NOT_FOUND, cu.cuGetProcAddress_v2("cuNope", &fn, 13000, 0, &status));
    assert_int_equal(status, XS_CU_PROC_NOT_FOUND);
    assert_null(fn);
    ok(cu.cuGetProcAddress_v2("cuEventRecord", &fn, 13000, XS_CU_PROC_PER_THREAD_STREAM, NULL));
    assert_ptr_not_equal(fn, (void *)cu.cuEventRecord);
}

static void errors_have_names(void **state)
{
    (void)state;
    const char *text = NULL;
    ok(cu.cuGetErrorName(XS_CUDA_ERROR_OUT_OF_MEMORY, &text));
    assert_string_equal(text, "CUDA_ERROR_OUT_OF_MEMORY");
    ok(cu.cuGetErrorString(XS_CUDA_ERROR_OUT_OF_MEMORY, &text));
    assert_string_equal(text, "out of memory");
    fails(XS_CUDA_ERROR_INVALID_VALUE, cu.cuGetErrorName(12345, &text));
}

/* ---- settings: each in a child, before cuInit ------------------------------------------------ */

static int child_calls_early(void)
{
    int n;
    CHILD_CHECK(cu.cuDeviceGetCount(&n) == XS_CUDA_ERROR_NOT_INITIALIZED);
    CHILD_CHECK(sim.violations() == 1);
    CHILD_CHECK(cu.cuDriverGetVersion(&n) == XS_CUDA_SUCCESS && n == 13000);
    return 0;
}

static int child_bad_values(void)
{
    static const char *const bad[] = {"",   "x",   "2Q",  "3000",      "-1",
                                      "5M", "2M ", "2iB", "999999999T"};
    for (size_t i = 0; i < XS_COUNT_OF(bad); i++) {
        setenv("XSEG_SIM_GRANULARITY", bad[i], 1);
        CHILD_CHECK(cu.cuInit(0) == XS_CUDA_ERROR_INVALID_VALUE);
    }
    setenv("XSEG_SIM_GRANULARITY", "64KiB", 1);
    CHILD_CHECK(cu.cuInit(0) == XS_CUDA_SUCCESS);
    return 0;
}

/* stderr goes to a pipe; the line must quote the variable and its value. */
static int child_quotes_bad_value(void)
{
    char text[256] = "";
    int ends[2];
    CHILD_CHECK(pipe(ends) == 0 && dup2(ends[1], 2) == 2);
    setenv("XSEG_SIM_CAPACITY", "lots", 1);
    cu.cuInit(0);
    CHILD_CHECK(read(ends[0], text, sizeof(text) - 1) > 0);
    CHILD_CHECK(strstr(text, "XSEG_SIM_CAPACITY=\"lots\""));
    CHILD_CHECK(strchr(text, '\n') == text + strlen(text) - 1);
    return 0;
}

static int child_capacity(void)
{
    size_t left, total;
    xs_cu_ptr va;
    xs_cu_mem mem[4];
    const struct xs_cu_alloc_prop prop = device_memory(0);
    setenv("XSEG_SIM_CAPACITY", "8MiB", 1);
    CHILD_CHECK(start_driver(NULL) == 0);
    for (int i = 0; i < 3; i++)
        CHILD_CHECK(cu.cuMemCreate(&mem[i], GRANULE, &prop, 0) == XS_CUDA_SUCCESS);
    CHILD_CHECK(cu.cuMemCreate(&mem[3], 2 * GRANULE, &prop, 0) == XS_CUDA_ERROR_OUT_OF_MEMORY);
    CHILD_CHECK(cu.cuMemAlloc_v2(&va, GRANULE + 1) == XS_CUDA_ERROR_OUT_OF_MEMORY);
    CHILD_CHECK(cu.cuMemAlloc_v2(&va, GRANULE) == XS_CUDA_SUCCESS);
    CHILD_CHECK(cu.cuMemGetInfo_v2(&left, &total) == XS_CUDA_SUCCESS);
    CHILD_CHECK(left == 0 && total == 4 * GRANULE);
    CHILD_CHECK(cu.cuMemRelease(mem[0]) == XS_CUDA_SUCCESS);
    CHILD_CHECK(cu.cuMemGetInfo_v2(&left, &total) == XS_CUDA_SUCCESS && left == GRANULE);
    CHILD_CHECK(cu.cuMemFree_v2(va) == XS_CUDA_SUCCESS);
    CHILD_CHECK(cu.cuMemCreate(&mem[0], 2 * GRANULE, &prop, 0) == XS_CUDA_SUCCESS);
    return sim.violations() != 0;
}

static int child_without_vmm(void)
{
    int value = 1;
    xs_cu_ptr va;
    xs_cu_mem mem;
    const struct xs_cu_alloc_prop prop = device_memory(0);
    setenv("XSEG_SIM_VMM", "0", 1);
    CHILD_CHECK(start_driver(NULL) == 0);
    CHILD_CHECK(cu.cuDeviceGetAttribute(&value, XS_CU_ATTR_VMM_SUPPORTED, 0) == 0 && value == 0);
    CHILD_CHECK(cu.cuMemCreate(&mem, GRANULE, &prop, 0) == XS_CUDA_ERROR_NOT_SUPPORTED);
    CHILD_CHECK(cu.cuMemAddressReserve(&va, GRANULE, 0, 0, 0) == XS_CUDA_ERROR_NOT_SUPPORTED);
    CHILD_CHECK(cu.cuMemAlloc_v2(&va, GRANULE) == XS_CUDA_SUCCESS);
    return cu.cuMemFree_v2(va);
}

static int child_without_data(void)
{
    const size_t bytes = 512 * XS_GIB, step = 64 * XS_MIB;
    const struct xs_cu_alloc_prop prop = device_memory(0);
    xs_cu_ptr va;
    xs_cu_mem mem;
    setenv("XSEG_SIM_DATA", "0", 1);
    CHILD_CHECK(start_driver(NULL) == 0);
    CHILD_CHECK(cu.cuMemAddressReserve(&va, bytes, 0, 0, 0) == 0);
    for (size_t at = 0; at < bytes; at += step) {
        CHILD_CHECK(cu.cuMemCreate(&mem, step, &prop, 0) == 0);
        CHILD_CHECK(cu.cuMemMap(va + at, step, 0, mem, 0) == 0);
        CHILD_CHECK(cu.cuMemRelease(mem) == 0);
    }
    CHILD_CHECK(cu.cuMemsetD8_v2(va, 1, bytes) == 0);
    CHILD_CHECK(sim.violations() == 1 && strstr(sim.last_violation(), "no access"));
    CHILD_CHECK(set_access(va, bytes, XS_CU_ACCESS_READWRITE) == 0);
    CHILD_CHECK(cu.cuMemsetD8_v2(va, 1, bytes) == 0);
    CHILD_CHECK(sim.violations() == 1);
    return cu.cuMemUnmap(va, bytes);
}

static int child_two_devices(void)
{
    int n;
    xs_cu_context ctx;
    xs_cu_device dev;
    size_t left, total;
    struct xs_cu_alloc_prop prop = device_memory(1);
    xs_cu_mem mem;
    setenv("XSEG_SIM_DEVICES", "2", 1);
    CHILD_CHECK(start_driver(NULL) == 0);
    CHILD_CHECK(cu.cuDeviceGetCount(&n) == 0 && n == 2);
    CHILD_CHECK(cu.cuMemCreate(&mem, GRANULE, &prop, 0) == 0);
    CHILD_CHECK(cu.cuMemGetInfo_v2(&left, &total) == 0 && left == total);
    CHILD_CHECK(cu.cuDevicePrimaryCtxRetain(&ctx, 1) == 0 && ctx != primary);
    CHILD_CHECK(cu.cuCtxPushCurrent_v2(ctx) == 0);
    CHILD_CHECK(cu.cuCtxGetDevice(&dev) == 0 && dev == 1);
    CHILD_CHECK(cu.cuMemGetInfo_v2(&left, &total) == 0 && left == total - GRANULE);
    return cu.cuMemRelease(mem);
}

static int child_no_devices(void)
{
    setenv("XSEG_SIM_DEVICES", "0", 1);
    return cu.cuInit(0) != XS_CUDA_ERROR_NO_DEVICE;
}

/* Ends with exit, so that the report is written, into a file that the parent looks at. */
static char report_path[] = "/tmp/xseg-sim-report-XXXXXX";

static int child_leaks(void)
{
    setenv("XSEG_SIM_REPORT", "1", 1);
    CHILD_CHECK(freopen(report_path, "w", stderr));
    CHILD_CHECK(start_driver(NULL) == 0);
    map_new(GRANULE);
    cu.cuMemRelease(99);
    exit(0);
}

static void settings_are_obeyed(void **state)
{
    (void)state;
    assert_true(passes_in_child(child_calls_early));
    assert_true(passes_in_child(child_quotes_bad_value));
    assert_true(passes_in_child(child_capacity));
    assert_true(passes_in_child(child_without_vmm));
    assert_true(passes_in_child(child_without_data));
    assert_true(passes_in_child(child_two_devices));
    assert_true(passes_in_child(child_no_devices));
}

static int child_bad_values_quietly(void)
{
    return freopen("/dev/null", "w", stderr) ? child_bad_values() : 1;
}

static void bad_settings_are_refused(void **state)
{
    (void)state;
    assert_true(passes_in_child(child_bad_values_quietly));
}

static void leaks_and_misuse_are_reported_at_exit_without_changing_its_code(void **state)
{
    (void)state;
    char text[4096] = "";
    const int fd = mkstemp(report_path);
    assert_true(fd >= 0);
    assert_true(passes_in_child(child_leaks));
    assert_true(read(fd, text, sizeof(text) - 1) > 0);
    close(fd);
    unlink(report_path);
    assert_non_null(strstr(text, "leaked 1 mappings"));
    assert_non_null(strstr(text, "leaked 1 reservations (2097152 bytes)"));
    assert_non_null(strstr(text, "violations: 1, the last: cuMemRelease: unknown handle"));
    assert_non_null(strstr(text, "cuMemSetAccess"));
}

#define CLEAN(test) cmocka_unit_test_teardown(test, check_clean)

int main(void)
{
    const struct CMUnitTest before_init[] = {
        cmocka_unit_test(settings_are_obeyed),
        cmocka_unit_test(bad_settings_are_refused),
        cmocka_unit_test(leaks_and_misuse_are_reported_at_exit_without_changing_its_code),
    };
    const struct CMUnitTest tests[] = {
        CLEAN(data_survives_a_move_to_another_address),
        CLEAN(one_handle_at_two_addresses_shares_its_bytes),
        CLEAN(released_memory_stays_until_it_is_unmapped),
        CLEAN(fresh_memory_is_zero_though_offsets_are_reused),
        CLEAN(one_call_unmaps_or_opens_many_handles),
        CLEAN(access_is_kept_for_each_mapping),
        CLEAN(reservations_are_aligned_and_repeat_themselves),
        CLEAN(a_free_hint_is_taken),
        CLEAN(terabytes_of_address_space_are_free),
        CLEAN(misuse_of_create_is_refused),
        CLEAN(a_recycled_handle_slot_does_not_revive_old_handles),
        CLEAN(misuse_of_map_is_refused),
        CLEAN(misuse_of_unmap_and_access_is_refused),
        CLEAN(misuse_of_reservations_is_refused),
        CLEAN(vmm_calls_may_not_touch_plain_allocations),
        CLEAN(misuse_of_devices_and_contexts_is_refused),
        CLEAN(allocations_take_whole_granules_and_small_ones_share),
        CLEAN(a_bad_free_is_refused),
        CLEAN(copies_and_sets_move_real_bytes),
        CLEAN(pointers_are_told_apart),
        CLEAN(the_digest_is_the_same_for_the_same_state),
        CLEAN(calls_are_counted_and_cost_what_was_measured),
        CLEAN(costs_between_measured_sizes_are_interpolated),
        CLEAN(everything_held_is_listed),
        CLEAN(get_proc_address_finds_the_newest_version),
        CLEAN(errors_have_names),
    };
    load_simulator();
    const int failed = cmocka_run_group_tests(before_init, NULL, NULL);
    return failed + cmocka_run_group_tests(tests, start_driver, NULL);
}
