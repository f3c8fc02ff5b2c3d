/* Reports R31, R63, R102 and R103: the driver refuses, or cannot do, what is asked of it. */
#include <fcntl.h>

#include "driver/driver_fault.h"
#include "report_fixture.h"

static void refuse(enum xs_call call, uint64_t times, size_t min_bytes, xs_cu_result code)
{
    const struct xs_fault fault = {call, 1, times, min_bytes, code, 0};
    XT_CHECK(xs_fault_add(&fault));
}

/* ---- R31: the text says which call failed, with what, for how many bytes ---------------------- */

static void names_the_call(enum xs_call call, const char *symbol, const char *bytes)
{
    refuse(call, UINT64_MAX, 0, XS_CUDA_ERROR_OUT_OF_MEMORY);
    must_not_fit(20 * XS_MIB);
    xs_fault_clear();
    text_says(symbol);
    text_says("CUDA_ERROR_OUT_OF_MEMORY");
    text_says(bytes);
    text_says("20.00 MiB wanted");
    xt_free(must_fit(20 * XS_MIB));
    XT_OK(xseg_empty_cache(0));
}

static void r31_extents(void)
{
    void *p = xt_alloc(XS_MIB);
    names_the_call(XS_CALL_mem_create, "cuMemCreate(", "2097152");
    names_the_call(XS_CALL_mem_map, "cuMemMap(", "16777216");
    names_the_call(XS_CALL_mem_set_access, "cuMemSetAccess(", "20971520");
    xt_free(p);
}

static void r31_classic(void)
{
    names_the_call(XS_CALL_mem_alloc, "cuMemAlloc_v2(", "20971520");
}

/* A refusal of large extents alone is answered with smaller ones. */
static void r31_smaller_extents(void)
{
    refuse(XS_CALL_mem_create, UINT64_MAX, 4 * XS_MIB, XS_CUDA_ERROR_OUT_OF_MEMORY);
    void *p = must_fit(200 * XS_MIB);
    XT_EQUAL(xt_stats(0).extents.current, 100);
    xs_fault_clear();
    xt_free(p);
}

/*
 * The device is full, and all that is free is one extent larger than the gap. Addresses in granules of 8 MiB, * is live:
 *   [0 1 hole) [1 2 *) [2 3 hole) [3 7 free) [7 8 *) [8 12 free) [12 14 *, of the extents of the holes)
 * Five fit at 2 if the gap is filled, and that takes the extent at 8 apart.
 */
static void r31_full_device(void)
{
    enum { FIRST, KEPT, GAP, FREE, BORDER, LARGE, BLOCKS };
    static const size_t mib[BLOCKS] = {8, 8, 8, 32, 8, 32};
    void *p[BLOCKS];
    for (unsigned i = 0; i < BLOCKS; i++)
        p[i] = must_fit(mib[i] * XS_MIB);
    XT_EQUAL(xt_stats(0).extents.current, BLOCKS);
    xt_free(p[FIRST]);
    xt_free(p[GAP]);
    void *moved = must_fit(16 * XS_MIB);
    xt_free(p[FREE]);
    xt_free(p[LARGE]);
    XT_EQUAL(xt_reserved(), 96 * XS_MIB);
    void *q = must_fit(40 * XS_MIB);
    XT_EQUAL(xt_reserved(), 72 * XS_MIB);
    void *const rest[] = {q, moved, p[KEPT], p[BORDER]};
    for (size_t i = 0; i < XS_COUNT_OF(rest); i++)
        xt_free(rest[i]);
}

static void r31_other_error(void)
{
    void *p = NULL;
    refuse(XS_CALL_mem_create, UINT64_MAX, 0, XS_CUDA_ERROR_UNKNOWN);
    XT_EQUAL(xseg_malloc(&p, 20 * XS_MIB, 0, NULL), XSEG_ERROR_DRIVER);
    xs_fault_clear();
    text_says("cuMemCreate(");
    text_says("CUDA_ERROR_UNKNOWN");
    XT_CHECK(p == NULL);
    xt_free(must_fit(20 * XS_MIB));
}

/* ---- R63: a handle type that is refused ------------------------------------------------------- */

static const xs_cu_result type_refusals[] = {
    XS_CUDA_ERROR_NOT_PERMITTED, XS_CUDA_ERROR_NOT_SUPPORTED, XS_CUDA_ERROR_INVALID_VALUE};

static xs_cu_result refusal;

static void r63_dropped(void)
{
    void *p = NULL;
    refuse(XS_CALL_mem_create, 1, 0, refusal);
    p = must_fit(20 * XS_MIB);
    XT_EQUAL(xs_fault_hits(), 1);
    const uint64_t calls = sim.calls("cuMemCreate");
    XT_EQUAL(calls, xt_stats(0).extents.current); /* only the refused call was made twice */
    xs_fault_clear();
    /* It is remembered: nothing is left to drop, so the same code is an error now. */
    void *q = NULL;
    refuse(XS_CALL_mem_create, 1, 0, refusal);
    XT_CHECK(xseg_malloc(&q, 200 * XS_MIB, 0, NULL) != XSEG_OK);
    xs_fault_clear();
    xt_check();
    xt_free(p);
}

static void r63(void)
{
    for (size_t i = 0; i < XS_COUNT_OF(type_refusals); i++) {
        refusal = type_refusals[i];
        XT_EQUAL(run_forked(r63_dropped), 0);
    }
}

static void r63_out_of_memory(void)
{
    refuse(XS_CALL_mem_create, UINT64_MAX, 0, XS_CUDA_ERROR_OUT_OF_MEMORY);
    must_not_fit(20 * XS_MIB);
    xs_fault_clear();
    /* That was no refusal of the type: it can still be dropped. */
    refuse(XS_CALL_mem_create, 1, 0, XS_CUDA_ERROR_NOT_PERMITTED);
    xt_free(must_fit(20 * XS_MIB));
    xs_fault_clear();
}

/* A code that stands for "not supported" is not taken for a want of address space either. */
static void r63_nothing_works(void)
{
    void *p = NULL;
    refuse(XS_CALL_mem_create, 1000, 0, XS_CUDA_ERROR_NOT_SUPPORTED);
    XT_CHECK(xseg_malloc(&p, 20 * XS_MIB, 0, NULL) != XSEG_OK);
    xs_fault_clear();
    XT_AT_MOST(xt_stats(0).segments.current, 1);
    xt_free(must_fit(20 * XS_MIB));
}

/* ---- R102: address space is scarce ------------------------------------------------------------ */

static void r102_halves(void)
{
    refuse(XS_CALL_mem_reserve, UINT64_MAX, 64 * XS_GIB + 1, XS_CUDA_ERROR_OUT_OF_MEMORY);
    void *p = must_fit(2 * XS_MIB);
    XT_EQUAL(xt_stats(0).address_bytes, 64 * XS_GIB);
    XT_EQUAL(xt_live().reserved_bytes, 64 * XS_GIB);
    xt_free(p);
    xs_fault_clear();
}

static void r102_down_to_the_request(void)
{
    refuse(XS_CALL_mem_reserve, UINT64_MAX, 30 * XS_MIB + 1, XS_CUDA_ERROR_OUT_OF_MEMORY);
    void *p = must_fit(30 * XS_MIB);
    XT_EQUAL(xt_stats(0).address_bytes, 30 * XS_MIB);
    void *q = must_fit(10 * XS_MIB); /* the first is full: another one */
    XT_EQUAL(xt_stats(0).segments.current, 2);
    xt_free(p);
    xt_free(q);
    xs_fault_clear();
}

static void r102_chain(void)
{
    void *p[10];
    for (unsigned i = 0; i < 10; i++)
        p[i] = must_fit(24 * XS_MIB);
    XT_EQUAL(xt_stats(0).segments.current, 5);
    XT_EQUAL(xt_stats(0).address_bytes, 5 * 64 * XS_MIB);
    void *large = must_fit(100 * XS_MIB); /* more than a segment is wont to have */
    xt_free(large);
    for (unsigned i = 0; i < 10; i++)
        xt_free(p[i]);
    XT_OK(xseg_empty_cache(0));
    XT_EQUAL(xt_stats(0).address_bytes, 0);
    XT_EQUAL(xt_live().reservations, 0);
}

static void r102_many_streams(void)
{
    static xs_cu_stream stream[8][32];
    static void *p[8][32];
    refuse(XS_CALL_mem_reserve, UINT64_MAX, 64 * XS_GIB + 1, XS_CUDA_ERROR_OUT_OF_MEMORY);
    for (int device = 0; device < 8; device++) {
        xt_make_context(device);
        for (unsigned i = 0; i < 32; i++) {
            stream[device][i] = xt_new_stream();
            XT_OK(xseg_malloc(&p[device][i], 2 * XS_MIB, device, stream[device][i]));
        }
        XT_EQUAL(xt_stats(device).address_bytes, 64 * XS_GIB);
    }
    xt_check_devices(8);
    XT_OK(xseg_shutdown());
    for (int device = 0; device < 8; device++) {
        for (unsigned i = 0; i < 32; i++)
            XT_CU(cu.cuStreamDestroy_v2(stream[device][i]));
        xt_drop_context(device);
    }
    xs_fault_clear();
}

/* ---- R103: no address space, or no virtual memory calls --------------------------------------- */

static void r103_below_4g(void)
{
    refuse(XS_CALL_mem_reserve, UINT64_MAX, 4 * XS_GIB, XS_CUDA_ERROR_OUT_OF_MEMORY);
    void *p = must_fit(100 * XS_MIB);
    XT_AT_MOST(xt_stats(0).address_bytes, 4 * XS_GIB - 1);
    XT_EQUAL(xt_live().allocs, 0);
    xt_free(p);
    xs_fault_clear();
}

static void to_file(const char *path)
{
    const int fd = open(path, O_CREAT | O_TRUNC | O_WRONLY, 0600);
    fflush(stderr);
    XT_CHECK(fd >= 0 && dup2(fd, STDERR_FILENO) >= 0);
    close(fd);
}

static unsigned lines_of(const char *path)
{
    unsigned lines = 0;
    FILE *file = fopen(path, "r");
    XT_CHECK(file != NULL);
    for (int c = getc(file); c != EOF; c = getc(file))
        lines += c == '\n';
    fclose(file);
    return lines;
}

static void classic_works(void)
{
    void *p = must_fit(3 * XS_MIB), *q = must_fit(1000);
    XT_EQUAL(xt_reserved(), 22 * XS_MIB);
    XT_EQUAL(xt_stats(0).segments.current, 2);
    XT_EQUAL(xt_stats(0).extents.current, 0);
    XT_EQUAL(xt_stats(0).address_bytes, 0);
    XT_EQUAL(xt_live().alloc_bytes, 22 * XS_MIB);
    xt_free(p);
    xt_free(q);
    XT_OK(xseg_empty_cache(0));
    XT_EQUAL(xt_reserved(), 0);
}

/* One line in the log, however often memory is asked for. */
static void r103_none(void)
{
    char path[] = "/tmp/xseg-test-XXXXXX";
    const int saved = dup(STDERR_FILENO), fd = mkstemp(path);
    XT_CHECK(saved >= 0 && fd >= 0);
    close(fd);
    to_file(path);
    refuse(XS_CALL_mem_reserve, UINT64_MAX, 0, XS_CUDA_ERROR_OUT_OF_MEMORY);
    void *p = xt_try(3 * XS_MIB, NULL), *q = xt_try(40 * XS_MIB, NULL);
    XT_CHECK(dup2(saved, STDERR_FILENO) >= 0);
    close(saved);
    const unsigned lines = lines_of(path);
    unlink(path);
    XT_CHECK(p && q);
    XT_EQUAL(lines, 1);
    xt_free(p);
    xt_free(q);
    XT_OK(xseg_empty_cache(0));
    classic_works();
    xs_fault_clear();
}

static void r103_no_vmm(void)
{
    classic_works();
    XT_EQUAL(sim.calls("cuMemAddressReserve"), 0);
    XT_EQUAL(sim.calls("cuMemCreate"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        REPORT("R31: the text names the failing call, its code and its size", r31_extents),
        REPORT("R31: the same in classic mode", r31_classic, CLASSIC),
        REPORT("R31: smaller extents are tried before giving up", r31_smaller_extents),
        REPORT("R31: a full device takes a larger extent apart", r31_full_device,
               "XSEG_SIM_CAPACITY=96M", "XSEG_SIM_GRANULARITY=8M"),
        REPORT("R31: another error is not called a shortage", r31_other_error),
        REPORT("R63: a refused handle type is dropped once and remembered", r63),
        REPORT("R63: a driver that supports no extents is an error", r63_nothing_works),
        REPORT("R63: a shortage is not taken for a refused type", r63_out_of_memory),
        REPORT("R102: a reservation that is refused is halved", r102_halves),
        REPORT("R102: down to the request itself", r102_down_to_the_request),
        REPORT("R102: a full segment is followed by another", r102_chain,
               "ALLOC_CONF=va_reserve:64M"),
        REPORT("R102: 8 devices with 32 streams each", r102_many_streams, "XSEG_SIM_DEVICES=8"),
        REPORT("R103: reservations below 4 GiB are enough", r103_below_4g),
        REPORT("R103: without address space there are classic segments, and one line", r103_none),
        REPORT("R103: a device without virtual memory calls", r103_no_vmm, "XSEG_SIM_VMM=0"),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
