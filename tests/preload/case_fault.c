/* Each call of the driver that the preload makes fails in turn: the program gets a code, nothing is lost, and what it
 * does next works. */
#include "program.h"

static const char *const symbols[] = {
    "cuCtxGetCurrent",
    "cuCtxGetDevice",
    "cuMemAddressReserve",
    "cuMemCreate",
    "cuMemMap",
    "cuMemSetAccess",
    "cuMemUnmap",
    "cuMemRelease",
    "cuEventCreate",
    "cuEventRecord",
    "cuCtxRecordEvent",
    "cuEventQuery",
    "cuEventSynchronize",
    "cuStreamSynchronize",
    "cuStreamGetId",
    "cuStreamGetCtx",
    "cuStreamIsCapturing",
    "cuCtxSynchronize",
    "cuMemGetInfo_v2",
    "cuMemAlloc_v2",
    "cuThreadExchangeStreamCaptureMode",
};

static xs_cu_stream stream;

/* Returns whether every call has succeeded. What was handed out holds what was written to it. */
static bool allocate_and_free(void)
{
    xs_cu_ptr va[6] = {0}, managed = 0;
    unsigned char got;
    size_t free_bytes, total;
    bool all = true;
    for (size_t i = 0; i < 6; i++) {
        size_t bytes = (i + 1) * 10 * MIB;
        xs_cu_result code = i < 4 ? cu.alloc(&va[i], bytes) : cu.alloc_async(&va[i], bytes, stream);
        all &= !code;
        if (!code)
            all &= !cu.set_bytes(va[i], (unsigned char)(i + 1), 8192, i % 2 ? stream : NULL);
    }
    all &= !cu.info(&free_bytes, &total);
    all &= !cu.managed(&managed, 800 * MIB, 1); /* only where the cache is given back */
    all &= !cu.stream_wait(stream) & !cu.stream_wait(NULL);
    for (size_t i = 0; i < 6; i++)
        if (va[i] && !cu.to_host(&got, va[i] + 4096, 1))
            CHECK(got == i + 1 || !all);
    for (size_t i = 0; i < 6; i++)
        while (va[i] && cu.release_memory(va[i]))
            all = false; /* a free that fails can be made again */
    while (managed && cu.release_memory(managed))
        all = false;
    return all;
}

static void fill_the_cache(void)
{
    xs_cu_ptr va;
    CU(cu.alloc(&va, 600 * MIB));
    CU(cu.release_memory(va));
}

static void each_call_fails(xs_cu_result code)
{
    start();
    CU(cu.stream_create(&stream, XS_CU_STREAM_NON_BLOCKING));
    CHECK(allocate_and_free());
    size_t failed = 0;
    for (size_t i = 0; i < sizeof(symbols) / sizeof(*symbols); i++) {
        for (uint64_t nth = 1; nth <= 6; nth++) {
            fill_the_cache();
            sim.fail(symbols[i], nth, code);
            failed += !allocate_and_free();
            sim.fail(symbols[i], 0, 0);
            EQUAL(stats().allocations.current, 0);
            if (!allocate_and_free())
                FAIL("after %s has failed the %lluth time", symbols[i], (unsigned long long)nth);
        }
    }
    CHECK(failed > 0);
    no_violations();
}

static void each_call_fails_with_an_unknown_error(void)
{
    each_call_fails(XS_CUDA_ERROR_UNKNOWN);
}

static void each_call_fails_for_want_of_memory(void)
{
    each_call_fails(XS_CUDA_ERROR_OUT_OF_MEMORY);
}

int main(int argc, char **argv)
{
    static const struct test_case cases[] = {
#define X(name) {#name, name}
        X(each_call_fails_with_an_unknown_error),
        X(each_call_fails_for_want_of_memory),
#undef X
    };
    return run_case(cases, sizeof(cases) / sizeof(*cases), argc, argv);
}
