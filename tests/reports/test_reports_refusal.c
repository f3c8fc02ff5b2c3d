/*
 * Reports R17, R29, R31, R32, R86 and R89 and each verdict as a program meets it: what is said of a request that is
 * refused for want of memory.
 */
#include <pthread.h>
#include <unistd.h>

#include "base/log.h"
#include "driver/driver_fault.h"
#include "report_fixture.h"
#include "xseg/pools.h"

static struct {
    unsigned calls;
    int device;
    size_t bytes;
    char text[16384], json[16384];
} told;

static void listen(void *ctx, int device, size_t bytes, const char *text, const char *json)
{
    XT_CHECK(ctx == &told);
    told.calls++;
    told.device = device;
    told.bytes = bytes;
    snprintf(told.text, sizeof(told.text), "%s", text);
    snprintf(told.json, sizeof(told.json), "%s", json);
}

static void refuse(size_t bytes)
{
    XT_OK(xseg_on_out_of_memory(listen, &told));
    XT_CHECK(xt_try(bytes, NULL) == NULL);
    text_says("out of memory");
    XT_EQUAL(told.bytes, bytes);
    XT_EQUAL(told.device, 0);
}

static void report_says(const char *part)
{
    if (!strstr(told.text, part) && !strstr(told.json, part))
        XT_FAIL("\"%s\" is not in: %s%s", part, told.text, told.json);
}

static void report_does_not_say(const char *part)
{
    if (strstr(told.text, part) || strstr(told.json, part))
        XT_FAIL("\"%s\" is in: %s%s", part, told.text, told.json);
}

/* ---- verdicts --------------------------------------------------------------------------------- */

static void r17(void)
{
    set_limit(XS_GIB);
    XT_OK(xseg_tag_push("model"));
    void *p = xt_alloc(960 * XS_MIB);
    refuse(128 * XS_MIB - 100);
    XT_EQUAL(told.calls, 1);
    report_says("\"verdict\": \"limit\"");
    report_says("wanted       128.00 MiB (a block of 128.00 MiB) for model");
    report_says("live         960.00 MiB");
    report_says("raise_limit");
    report_does_not_say("expandable_segments");
    report_does_not_say("extent_max");
    text_says("not fragmentation");
    XT_OK(xseg_tag_pop());
    xt_free(p);
    xt_free(xt_alloc(128 * XS_MIB)); /* and the next request works */
    XT_EQUAL(told.calls, 1);
}

static void full(void)
{
    void *p = xt_alloc(7 * XS_GIB);
    refuse(2 * XS_GIB);
    report_says("\"verdict\": \"full\"");
    report_says("CUDA_ERROR_OUT_OF_MEMORY");
    report_does_not_say("raise_limit");
    xt_free(p);
}

static void others(void)
{
    xs_cu_ptr foreign;
    xt_make_context(0);
    XT_CU(cu.cuMemAlloc_v2(&foreign, 5 * XS_GIB));
    void *p = xt_alloc(2 * XS_GIB);
    refuse(2 * XS_GIB);
    report_says("\"verdict\": \"others\"");
    report_says("other_processes");
    XT_CU(cu.cuMemFree_v2(foreign));
    xt_free(must_fit(2 * XS_GIB));
    xt_free(p);
}

#define PINS 15

/* Scraps in every large extent. */
static void fragment(void **pins)
{
    void *rest[PINS];
    for (unsigned i = 0; i < PINS; i++) {
        XT_OK(xseg_tag_push("scrap"));
        pins[i] = xt_alloc(512);
        XT_OK(xseg_tag_pop());
        rest[i] = xt_alloc(64 * XS_MIB - 512);
    }
    for (unsigned i = 0; i < PINS; i++)
        xt_free(rest[i]);
}

static void fragmentation(void)
{
    void *pins[PINS];
    set_limit(XS_GIB);
    fragment(pins);
    refuse(512 * XS_MIB);
    report_says("\"verdict\": \"fragmentation\"");
    report_says("pinned by 0x");
    report_says(", scrap)");
    report_says("small_extents");
    report_does_not_say("expandable_segments:True"); /* R29: it is on */
    for (unsigned i = 0; i < PINS; i++)
        xt_free(pins[i]);
}

/* A segment of 900 MiB is cut up, and every tenth piece stays. */
static void r29_classic(void)
{
    void *piece[50];
    set_limit(XS_GIB);
    xt_free(xt_alloc(900 * XS_MIB));
    for (unsigned i = 0; i < XS_COUNT_OF(piece); i++)
        piece[i] = xt_alloc(16 * XS_MIB);
    for (unsigned i = 0; i < XS_COUNT_OF(piece); i++)
        if (i % 10)
            xt_free(piece[i]);
    refuse(600 * XS_MIB);
    report_says("\"verdict\": \"fragmentation\"");
    report_says("expandable_segments:True would make");
    report_does_not_say("small_extents");
    refuse(1000 * XS_MIB); /* more than that would give */
    report_does_not_say("expandable_segments:True");
    for (unsigned i = 0; i < XS_COUNT_OF(piece); i += 10)
        xt_free(piece[i]);
}

/* Two pools, of which most is free again. */
static void fill_pools(xseg_pool pools[2], void *kept[2])
{
    for (unsigned i = 0; i < 2; i++) {
        void *p;
        XT_OK(xseg_pool_create(0, 0, &pools[i]));
        XT_OK(xseg_pool_malloc(&kept[i], 2 * XS_MIB, pools[i], NULL));
        XT_OK(xseg_pool_malloc(&p, 400 * XS_MIB, pools[i], NULL));
        xt_free(p);
    }
}

static void held_pools(void)
{
    xseg_pool pools[2];
    void *kept[2], *p;
    set_limit(XS_GIB);
    fill_pools(pools, kept);
    refuse(500 * XS_MIB);
    report_says("\"verdict\": \"pools\"");
    report_says("pools        2 held, 800.00 MiB free in them");
    report_says("\"held_free\": 838860800");
    report_says("release_pools");
    text_says("800.00 MiB are free in 2 private pools that are held");
    text_does_not_say("this is fragmentation");
    XT_CHECK(xseg_pool_malloc(&p, 700 * XS_MIB, pools[0], NULL) == XSEG_ERROR_OUT_OF_MEMORY);
    report_says("1 held, 400.00 MiB free"); /* its own is not kept from it */
    for (unsigned i = 0; i < 2; i++)
        XT_OK(xseg_pool_release(pools[i]));
    p = must_fit(500 * XS_MIB); /* what was advised helps */
    refuse(900 * XS_MIB);
    report_does_not_say("pools  ");
    report_does_not_say("release_pools");
    for (unsigned i = 0; i < 2; i++) {
        xt_free(kept[i]);
        XT_OK(xseg_pool_destroy(pools[i]));
    }
    xt_free(p);
}

/* What is free beside a live block serves the pool that it lies in, and no other. */
static void largest_in_the_pool(void)
{
    xseg_pool pool;
    void *pin, *p, *q;
    set_limit(64 * XS_MIB);
    xt_free(xt_alloc(64 * XS_MIB));
    pin = xt_alloc(512); /* in one extent with all the rest */
    XT_OK(xseg_pool_create(0, 0, &pool));
    XT_OK(xseg_on_out_of_memory(listen, &told));
    XT_CHECK(xseg_pool_malloc(&p, 4 * XS_MIB, pool, NULL) == XSEG_ERROR_OUT_OF_MEMORY);
    text_says("4.00 MiB wanted in a private pool;");
    text_says("largest request that fits 0 B");
    text_says("this is fragmentation");
    report_says("\"verdict\": \"fragmentation\"");
    report_says(", in private pool ");
    xt_free(must_fit(48 * XS_MIB)); /* by the default pool */
    xt_free(pin);
    XT_OK(xseg_pool_malloc(&p, 48 * XS_MIB, pool, NULL));
    XT_OK(xseg_pool_malloc(&q, 16 * XS_MIB, pool, NULL));
    xt_free(p);
    XT_CHECK(xseg_pool_malloc(&p, 52 * XS_MIB, pool, NULL) == XSEG_ERROR_OUT_OF_MEMORY);
    text_says("largest request that fits 48.00 MiB");
    refuse(4 * XS_MIB);
    text_says("4.00 MiB wanted;");
    text_says("largest request that fits 0 B");
    report_does_not_say("in private pool");
    xt_free(q);
    XT_OK(xseg_pool_destroy(pool));
}

/* A stream that captures can be neither asked nor waited for. */
static void waiting(void)
{
    xs_cu_graph graph;
    xt_make_context(0);
    set_limit(XS_GIB);
    xs_cu_stream busy = xt_new_stream(), capturing = xt_new_stream();
    void *p = xt_alloc_on(900 * XS_MIB, busy);
    XT_CU(sim.stream_manual(busy, true));
    XT_CU(sim.launch(busy, (xs_cu_ptr)(uintptr_t)p, 900 * XS_MIB));
    XT_CU(cu.cuStreamBeginCapture_v2(capturing, 2));
    XT_OK(xseg_free(p));
    XT_OK(xseg_on_out_of_memory(listen, &told));
    XT_EQUAL(xseg_malloc(&p, 512 * XS_MIB, 0, (xseg_stream)capturing), XSEG_ERROR_OUT_OF_MEMORY);
    report_says("\"verdict\": \"waiting\"");
    report_says("synchronise");
    XT_CU(cu.cuStreamEndCapture(capturing, &graph));
    XT_CU(cu.cuGraphDestroy(graph));
    sim.stream_advance(busy, SIZE_MAX);
    XT_CU(sim.stream_manual(busy, false));
    XT_OK(xseg_empty_cache(0));
    XT_CU(cu.cuStreamDestroy_v2(busy));
    XT_CU(cu.cuStreamDestroy_v2(capturing));
}

static void fail_always(enum xs_call call, xs_cu_result code)
{
    struct xs_fault fault = {.call = call, .nth = 1, .repeat = UINT64_MAX, .code = code};
    XT_CHECK(xs_fault_add(&fault));
}

/* R31: each driver call that a growth makes; half of the device is free. */
static void r31(void)
{
    static const enum xs_call calls[] = {XS_CALL_mem_create, XS_CALL_mem_map,
                                         XS_CALL_mem_set_access};
    static const char *const names[] = {"cuMemCreate(", "cuMemMap(", "cuMemSetAccess("};
    void *p = xt_alloc(4 * XS_GIB);
    for (unsigned i = 0; i < XS_COUNT_OF(calls); i++) {
        fail_always(calls[i], XS_CUDA_ERROR_OUT_OF_MEMORY);
        refuse(20 * XS_MIB);
        report_says("\"verdict\": \"driver\"");
        report_says(names[i]);
        report_says("CUDA_ERROR_OUT_OF_MEMORY (2)");
        text_says(names[i]);
        text_does_not_say("this is fragmentation");
        xs_fault_clear();
        xt_free(must_fit(20 * XS_MIB));
        XT_OK(xseg_empty_cache(0));
    }
    xt_free(p);
}

/* R32: nobody says what others hold. */
static void r32(void)
{
    void *p = xt_alloc(7 * XS_GIB);
    fail_always(XS_CALL_mem_get_info, 800);
    refuse(2 * XS_GIB);
    report_says("\"others\": null");
    report_says("not ours unknown");
    xs_fault_clear();
    xt_free(p);
}

/* ---- what else happens then ------------------------------------------------------------------- */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void take_mutex(void *ctx, int device, size_t bytes, const char *text, const char *json)
{
    (void)device;
    (void)bytes;
    (void)text;
    (void)json;
    pthread_mutex_lock(&mutex);
    ++*(unsigned *)ctx;
    xt_free(xt_alloc(XS_MIB)); /* it may call in, too */
    XT_OK(xseg_diagnose(0, XSEG_FORMAT_TEXT, NULL, NULL));
    pthread_mutex_unlock(&mutex);
}

static void *be_refused(void *unused)
{
    (void)unused;
    for (unsigned i = 0; i < 50; i++) {
        void *p;
        XT_EQUAL(xseg_malloc(&p, 2 * XS_GIB, 0, NULL), XSEG_ERROR_OUT_OF_MEMORY);
    }
    return NULL;
}

/* R89: one thread allocates with a mutex held that the callback of another wants. */
static void r89(void)
{
    unsigned calls = 0;
    pthread_t thread;
    set_limit(XS_GIB);
    XT_CHECK(freopen("/dev/null", "w", stderr) != NULL);
    XT_OK(xseg_on_out_of_memory(take_mutex, &calls));
    XT_EQUAL(pthread_create(&thread, NULL, be_refused, NULL), 0);
    for (unsigned i = 0; i < 2000; i++) {
        pthread_mutex_lock(&mutex);
        xt_free(xt_alloc(1 + i % 100 * XS_MIB));
        pthread_mutex_unlock(&mutex);
    }
    pthread_join(thread, NULL);
    XT_EQUAL(calls, 50);
    XT_EQUAL(xt_stats(0).out_of_memory, 50);
}

static unsigned logged;

static void count_lines(void *ctx, const char *line)
{
    (void)ctx;
    logged += strstr(line, "advice ") != NULL || strstr(line, "out of memory") != NULL;
}

static void report_is_logged(void)
{
    xs_log_redirect(count_lines, NULL);
    set_limit(XS_GIB);
    must_not_fit(2 * XS_GIB);
    XT_EQUAL(logged, 0);
    XT_OK(xseg_configure("oom_report:True"));
    set_limit(XS_GIB);
    must_not_fit(2 * XS_GIB);
    XT_CHECK(logged >= 2);
}

static bool file_begins(const char *path, const char *bytes)
{
    char begins[2] = "";
    FILE *f = fopen(path, "rb");
    bool ok = f && fread(begins, 1, 2, f) == 2 && memcmp(begins, bytes, 2) == 0;
    if (f)
        fclose(f);
    unlink(path);
    return ok;
}

static void snapshot_is_written(void)
{
    char conf[128], path[64];
    snprintf(conf, sizeof(conf), "snapshot_on_oom:True,snapshot_path:/tmp/xseg-test-%%p.pickle");
    snprintf(path, sizeof(path), "/tmp/xseg-test-%d.pickle", (int)getpid());
    XT_OK(xseg_configure(conf));
    set_limit(XS_GIB);
    must_not_fit(2 * XS_GIB);
    XT_CHECK(file_begins(path, "\x80\x02"));
    XT_OK(xseg_configure("snapshot_path:/nowhere/at/all"));
    set_limit(XS_GIB);
    must_not_fit(2 * XS_GIB); /* the text is still about memory */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        REPORT("R17: live memory up to the limit is no fragmentation", r17),
        REPORT("R17: the same in classic mode", r17, CLASSIC),
        REPORT("a full device", full, "XSEG_SIM_CAPACITY=8G"),
        REPORT("a full device, classic", full, "XSEG_SIM_CAPACITY=8G", CLASSIC),
        REPORT("memory that others hold", others, "XSEG_SIM_CAPACITY=8G"),
        REPORT("R86: fragmentation, and which blocks pin which extents", fragmentation,
               "ALLOC_CONF=extent_min:64M,extent_max:64M"),
        REPORT("R29: no advice for what is on, or would not help", r29_classic, CLASSIC),
        REPORT("memory that private pools hold", held_pools),
        REPORT("the largest request of a private pool", largest_in_the_pool,
               "ALLOC_CONF=extent_min:64M"),
        REPORT("memory that the GPU has not passed", waiting),
        REPORT("R31: a driver that refuses what is there", r31, "XSEG_SIM_CAPACITY=8G"),
        REPORT("R32: a driver that does not say what is free", r32, "XSEG_SIM_CAPACITY=8G"),
        REPORT("R89: the callback is called with no lock held", r89),
        REPORT("the report is logged where that is asked for", report_is_logged),
        REPORT("a snapshot is written where that is asked for", snapshot_is_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
