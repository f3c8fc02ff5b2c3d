/* Reports R22 to R28 and R94: what a policy string does to memory. */
#include <pthread.h>

#include "base/log.h"
#include "report_fixture.h"

/* ---- R24: what comes too late ------------------------------------------------------------------ */

static unsigned late_notes;

static void count_late(void *ctx, const char *line)
{
    (void)ctx;
    late_notes += strstr(line, "has no effect on devices in use") != NULL;
}

static void r24_call(void)
{
    xs_log_redirect(count_late, NULL);
    XT_OK(xseg_configure("handle_type:none")); /* in time */
    void *p = xt_alloc(XS_MIB);
    XT_EQUAL(late_notes, 0);
    XT_OK(xseg_configure("handle_type:posix_fd,slack:0.5,memory_limit:8M"));
    XT_EQUAL(late_notes, 1);
    must_not_fit(10 * XS_MIB);
    xt_free(p);
    xs_log_redirect(NULL, NULL);
}

static void set_too_late(void)
{
    xt_free(xt_alloc(XS_MIB));
    setenv("ALLOC_CONF", "slack:0.5", 1);
}

/* All that a child says at its end. */
static void r24_variable(void)
{
    char text[4096];
    int ends[2];
    XT_EQUAL(pipe(ends), 0);
    const int own = dup(STDERR_FILENO);
    dup2(ends[1], STDERR_FILENO);
    setenv("XSEG_LOG", "1", 1);
    run_forked(set_too_late);
    dup2(own, STDERR_FILENO);
    close(ends[1]);
    const ssize_t n = read(ends[0], text, sizeof(text) - 1);
    text[n > 0 ? n : 0] = '\0';
    if (!strstr(text, "xseg: ALLOC_CONF has changed since it was read"))
        XT_FAIL("it said: %s", text);
}

/* ---- R25: extents are switched off and on at run time ----------------------------------------- */

static void r25(void)
{
    XT_OK(xseg_configure("expandable_segments:True"));
    void *p = xt_alloc(64 * XS_MIB);
    XT_EQUAL(xt_live().allocs, 0);
    XT_OK(xseg_configure("expandable_segments:False"));
    void *q = xt_alloc(64 * XS_MIB);
    XT_EQUAL(xt_live().alloc_bytes, 64 * XS_MIB);
    xt_free(p);
    void *r = xt_alloc(64 * XS_MIB);
    XT_EQUAL(xt_live().alloc_bytes, 128 * XS_MIB); /* not from p's memory */
    XT_CHECK(r != p);
    xt_check();
    XT_OK(xseg_configure("expandable_segments:True"));
    void *s = xt_alloc(64 * XS_MIB);
    XT_EQUAL(xt_reserved(), 192 * XS_MIB); /* from p's */
    xt_free(q);
    xt_free(r);
    xt_free(s);
    XT_OK(xseg_empty_cache(0));
    XT_EQUAL(xt_reserved(), 0);
    XT_EQUAL(xt_live().used_bytes, 0);
}

/* ---- R26: max_split_size_mb below the least --------------------------------------------------- */

static void refused(const char *conf, const char *why)
{
    XT_EQUAL(xseg_configure(conf), XSEG_ERROR_CONFIG);
    text_says(why);
}

static void r26(void)
{
    refused("max_split_size_mb:5", "max_split_size_mb");
    text_says("20");
    refused("max_split_size_mb:19", "max_split_size_mb");
    text_says("20");
    XT_OK(xseg_configure("max_split_size_mb:20"));
    set_limit(100 * XS_MIB);
    must_not_fit(110 * XS_MIB);
    text_does_not_say("max_split_size_mb");
}

/* ---- R27: refused before the driver is asked -------------------------------------------------- */

static uint64_t driver_requests(void)
{
    return sim.calls("cuMemCreate") + sim.calls("cuMemAlloc_v2") + sim.calls("cuMemAddressReserve");
}

static void r27(void)
{
    void *p[8];
    for (unsigned i = 0; i < 8; i++)
        p[i] = must_fit(256 * XS_MIB);
    const uint64_t calls = driver_requests();
    must_not_fit(256 * XS_MIB);
    XT_EQUAL(driver_requests(), calls);
    xt_free(p[2]);
    xt_free(p[5]);
    p[2] = must_fit(512 * XS_MIB); /* cached memory counts as free */
    xt_free(p[2]);
    p[2] = must_fit(256 * XS_MIB);
    p[5] = must_fit(256 * XS_MIB);
    for (unsigned i = 0; i < 8; i++)
        xt_free(p[i]);
}

/* ---- R28: no caching -------------------------------------------------------------------------- */

static void r28(void)
{
    static const size_t sizes[] = {1, 512, 513, 1000003, 2 * XS_MIB, 30 * XS_MIB + 8};
    for (size_t i = 0; i < XS_COUNT_OF(sizes); i++) {
        void *p = xt_alloc(sizes[i]);
        XT_EQUAL(sim.calls("cuMemAlloc_v2"), i + 1);
        XT_EQUAL(xt_live().alloc_bytes, sizes[i]);
        XT_EQUAL(xt_block_bytes(p), sizes[i]);
        xt_check();
        xt_free(p);
        XT_EQUAL(sim.calls("cuMemFree_v2"), i + 1);
        XT_EQUAL(xt_live().allocs, 0);
        XT_EQUAL(xt_reserved(), 0);
    }
    XT_EQUAL(sim.calls("cuMemCreate"), 0);
}

/* Nor a block that was used on another stream: it goes back like any other, and serves nobody else. */
static void r28_used_elsewhere(void)
{
    xt_make_context(0);
    xs_cu_stream other = xt_new_stream();
    for (unsigned i = 1; i <= 4; i++) {
        void *p = xt_alloc(30 * XS_MIB), *q;
        XT_OK(xseg_record_stream(p, other));
        XT_CU(sim.launch(other, (uintptr_t)p, 30 * XS_MIB));
        xt_free(p);
        XT_EQUAL(xt_live().alloc_bytes, 0);
        p = xt_alloc(3 * XS_MIB);
        q = xt_alloc(3 * XS_MIB);
        xt_free(p);
        memset(q, 1, 3 * XS_MIB);
        xt_check();
        xt_free(q);
    }
    XT_CU(cu.cuStreamDestroy_v2(other));
    XT_EQUAL(xt_reserved(), 0);
}

/* ---- R22: rounding at the edges of its slots -------------------------------------------------- */

static void rounds(size_t bytes, size_t block)
{
    void *p = xt_alloc(bytes);
    XT_EQUAL(xt_block_bytes(p), block);
    xt_free(p);
}

static void r22(void)
{
    rounds(514 * XS_MIB, 768 * XS_MIB);
    XT_OK(xseg_configure("roundup_power2_divisions:[>:1]"));
    rounds(514 * XS_MIB, 514 * XS_MIB); /* 1 rounds nothing */
    XT_OK(xseg_configure("roundup_power2_divisions:[256:2,512:4,1024:8,>:2]"));
    rounds(256 * XS_MIB, 256 * XS_MIB);
    rounds(256 * XS_MIB + 1, 384 * XS_MIB);
    rounds(512 * XS_MIB - 1, 512 * XS_MIB);
    rounds(512 * XS_MIB + 1, 640 * XS_MIB);
    rounds(1024 * XS_MIB + 1, 1152 * XS_MIB);
    rounds(2048 * XS_MIB + 1, 3072 * XS_MIB);
    XT_OK(
        xseg_configure("expandable_segments:True")); /* a string that does not name it resets it */
    rounds(514 * XS_MIB, 514 * XS_MIB);
    refused("roundup_power2_divisions:3", "3");
}

/* ---- extents smaller than a granule, and larger than the device ----------------------------------- */

static void odd_extents(const char *conf)
{
    XT_OK(xseg_configure(conf));
    for (size_t mib = 1; mib < 200; mib *= 3) {
        void *p = xt_alloc(mib * XS_MIB);
        xt_check();
        xt_free(p);
        XT_OK(xseg_empty_cache(0));
    }
}

static void extent_bounds(void)
{
    odd_extents("extent_min:0,extent_max:1");
    odd_extents("extent_min:3M,extent_max:5M");
    odd_extents("extent_min:1T,extent_max:1T");
}

/* ---- R94: never a block smaller than the request ---------------------------------------------- */

static void r94(void)
{
    xt_free(xt_alloc(150 * XS_MIB));
    void *p = xt_alloc(200 * XS_MIB);
    XT_AT_MOST(200 * XS_MIB, xt_block_bytes(p));
    char *bytes = p;
    bytes[0] = bytes[200 * XS_MIB - 1] = 1; /* mapped to its end */
    xt_check();
    xt_free(p);
}

/* ---- cache_bytes ------------------------------------------------------------------------------ */

#define SIZES  8
#define BLOCKS 256

static void *passed_on[SIZES * BLOCKS];

static void *free_all(void *unused)
{
    (void)unused;
    for (unsigned i = 0; i < SIZES * BLOCKS; i++)
        xt_free(passed_on[i]);
    return NULL;
}

/* A thread that only frees leaves no more of it for others than it may keep. */
static void cache_bytes_bound_what_is_passed_on(void)
{
    pthread_t thread;
    for (unsigned i = 0; i < SIZES * BLOCKS; i++)
        passed_on[i] = xt_alloc((16 + i / BLOCKS) * XS_KIB);
    XT_EQUAL(pthread_create(&thread, NULL, free_all, NULL), 0);
    XT_EQUAL(pthread_join(thread, NULL), 0);
    XT_CHECK(xt_stats(0).frag_cache_bytes > XS_MIB / 2);
    XT_CHECK(xt_stats(0).frag_cache_bytes <= XS_MIB);
    xt_check();
    for (unsigned i = 0; i < 64; i++)
        passed_on[i] = xt_alloc(16 * XS_KIB);
    XT_CHECK(xt_stats(0).rung_depot > 0);
    for (unsigned i = 0; i < 64; i++)
        xt_free(passed_on[i]);
    xt_check();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        REPORT("R22: rounding to divisions of a power of two", r22,
               "ALLOC_CONF=roundup_power2_divisions:2"),
        REPORT("R24: options that come too late are named", r24_call),
        REPORT("R24: a variable that is set too late is named in the end", r24_variable),
        REPORT("R25: memory comes from what is switched on when it is asked for", r25),
        REPORT("R26: max_split_size_mb below 20 is refused in words", r26),
        REPORT("R27: above the fraction no driver call is made", r27, "XSEG_SIM_CAPACITY=4G",
               "ALLOC_CONF=per_process_memory_fraction:0.5,throw_on_cudamalloc_oom:True"),
        REPORT("R27: the same in classic mode", r27, "XSEG_SIM_CAPACITY=4G",
               "ALLOC_CONF=per_process_memory_fraction:0.5,throw_on_cudamalloc_oom:True,"
               "expandable_segments:False"),
        REPORT("R28: without caching every request reaches the driver as it is", r28,
               "ALLOC_CONF=backend:cudaMalloc"),
        REPORT("R28: nor is a block that was used on another stream", r28_used_elsewhere,
               "ALLOC_CONF=backend:cudaMalloc"),
        REPORT("bounds of an extent that are no extent's size", extent_bounds),
        REPORT("R94: a larger request never gets the smaller block", r94),
        REPORT("R94: the same in classic mode", r94, CLASSIC),
        REPORT("R94: the same with coarse rounding", r94, "ALLOC_CONF=roundup_power2_divisions:2"),
        REPORT("R94: the same with rounding by slots", r94,
               "ALLOC_CONF=roundup_power2_divisions:[64:8,128:2,>:4],expandable_segments:False"),
        REPORT("cache_bytes bounds what threads leave for each other",
               cache_bytes_bound_what_is_passed_on, "ALLOC_CONF=cache_bytes:1M"),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
