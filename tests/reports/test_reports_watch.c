/* Reports R84, R85 and R88: what others see of a running program, and what the program sees of itself. */
#include <signal.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "report/page.h"
#include "report_fixture.h"

static void nap(unsigned ms)
{
    struct timespec t = {ms / 1000, (long)(ms % 1000) * 1000000};
    nanosleep(&t, NULL);
}

/* ---- the page --------------------------------------------------------------------------------- */

static struct xs_page_device part;

static bool look(void)
{
    const char *why;
    const struct xs_page *page = xs_page_map(getpid(), &why);
    bool ok = page && xs_page_read(page, 0, &part);
    if (page)
        xs_page_unmap(page);
    return ok;
}

static void page_follows(void)
{
    if (access("/dev/shm", W_OK))
        exit(77);
    XT_CHECK(!look());
    void *p = xt_alloc(30 * XS_MIB);
    XT_CHECK(look());
    nap(300);
    void *q = xt_alloc(50 * XS_MIB); /* a slow path: the page is brought up to date before it */
    XT_CHECK(look());
    XT_EQUAL(part.stats.allocated_bytes.current, 30 * XS_MIB);
    XT_EQUAL(part.stats.reserved_bytes.current,
             part.stats.active_bytes.current + part.stats.cached_bytes.current);
    XT_EQUAL(part.stats.largest_free_bytes, UINT64_MAX); /* not known, and not called nothing */
    xt_free(p);
    xt_free(q);
    XT_OK(xseg_shutdown());
    XT_CHECK(!look());
}

static void no_page(void)
{
    void *p = xt_alloc(30 * XS_MIB);
    XT_CHECK(!look());
    xt_free(p);
}

/* ---- a snapshot on a signal ------------------------------------------------------------------- */

static void on_signal(void)
{
    char path[64];
    struct stat st;
    snprintf(path, sizeof(path), "/tmp/xseg-watch-%d.json", (int)getpid());
    void *p = xt_alloc(XS_MIB);
    XT_EQUAL(raise(SIGUSR1), 0);
    for (unsigned i = 0; i < 1000 && stat(path, &st); i++)
        nap(10);
    XT_EQUAL(stat(path, &st), 0);
    XT_EQUAL(st.st_mode & 07777, 0600);
    XT_CHECK(st.st_size > 100);
    unlink(path);
    xt_free(p);
}

/* ---- R84: what frameworks ask for -------------------------------------------------------------- */

static char text[65536];
static size_t length;

static void collect(void *ctx, const char *bytes, size_t n)
{
    XT_CHECK(ctx == &length && length + n < sizeof(text));
    memcpy(text + length, bytes, n);
    length += n;
    text[length] = '\0';
}

static void has(const char *part_of)
{
    if (!strstr(text, part_of))
        XT_FAIL("\"%s\" is not in: %s", part_of, text);
}

static void r84(void)
{
    void *p = xt_alloc(30 * XS_MIB);
    xt_free(xt_alloc(50 * XS_MIB));
    XT_OK(xseg_stats_print(0, XSEG_FORMAT_JSON, collect, &length));
    has("\"allocated_bytes.all.current\": 31457280, ");
    has("\"allocated_bytes.all.peak\": 83886080, ");
    has("\"num_ooms\": 0, ");
    has("\"largest_obtainable_bytes\": ");
    length = 0;
    XT_OK(xseg_reset_peaks(0));
    XT_OK(xseg_stats_print(0, XSEG_FORMAT_JSON, collect, &length));
    has("\"allocated_bytes.all.peak\": 31457280, ");
    length = 0;
    XT_OK(xseg_stats_print(0, XSEG_FORMAT_TEXT, collect, &length));
    has("memory summary, device ID 0");
    length = 0;
    XT_OK(xseg_stats_print(0, XSEG_FORMAT_PROMETHEUS, collect, &length));
    has("\nxseg_allocated_bytes{device=\"0\"} 31457280\n");
    length = 0;
    XT_OK(xseg_diagnose(0, XSEG_FORMAT_JSON, collect, &length));
    has("\"verdict\": \"none\"");
    XT_EQUAL(xseg_stats_print(0, (enum xseg_format)7, collect, &length), XSEG_ERROR_INVALID_VALUE);
    XT_EQUAL(xseg_diagnose(0, XSEG_FORMAT_PROMETHEUS, collect, &length), XSEG_ERROR_INVALID_VALUE);
    XT_EQUAL(xseg_diagnose(1, XSEG_FORMAT_TEXT, collect, &length), XSEG_ERROR_NO_DEVICE);
    XT_EQUAL(xseg_snapshot(NULL), XSEG_ERROR_INVALID_VALUE);
    XT_EQUAL(xseg_snapshot("/nowhere/at/all"), XSEG_ERROR_IO);
    text_says("/nowhere/at/all");
    XT_EQUAL(xseg_tag_push(""), XSEG_ERROR_INVALID_VALUE);
    XT_EQUAL(xseg_tag_pop(), XSEG_ERROR_INVALID_VALUE);
    xt_free(p);
}

/* R85: what is freed and emptied is the driver's again. */
static void r85(void)
{
    void *p[10];
    for (unsigned i = 0; i < 10; i++)
        p[i] = xt_alloc(7 * XS_MIB);
    for (unsigned i = 0; i < 10; i++)
        xt_free(p[i]);
    XT_OK(xseg_empty_cache(0));
    XT_EQUAL(xt_stats(0).reserved_bytes.current, 0);
    XT_EQUAL(xt_live().used_bytes, 0);
}

/* ---- R88: history is a ring of fixed size ------------------------------------------------------ */

static size_t events_in(const char *path)
{
    size_t n = 0;
    char line[4096];
    FILE *f = fopen(path, "r");
    XT_CHECK(f != NULL);
    while (fgets(line, sizeof(line), f))
        for (const char *at = line; (at = strstr(at, "\"action\"")); at++)
            n++;
    fclose(f);
    unlink(path);
    return n;
}

static void r88(void)
{
    char path[64];
    snprintf(path, sizeof(path), "/tmp/xseg-r88-%d.json", (int)getpid());
    for (unsigned i = 0; i < 5000; i++)
        xt_free(xt_alloc(4096));
    const struct xseg_stats before = xt_stats(0);
    for (unsigned i = 0; i < 50000; i++)
        xt_free(xt_alloc(4096));
    const struct xseg_stats after = xt_stats(0);
    XT_EQUAL(after.metadata_bytes, before.metadata_bytes);
    XT_OK(xseg_snapshot(path));
    const size_t events = events_in(path); /* a free is two there */
    XT_CHECK(events >= 1000 && events <= 2 * 1024 + 64);
    XT_OK(xseg_configure("history:0"));
    xt_free(xt_alloc(4096));
    XT_OK(xseg_snapshot(path));
    XT_EQUAL(events_in(path), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        REPORT("the page follows the program, and goes with it", page_follows),
        REPORT("no page where none is wanted", no_page, "ALLOC_CONF=page:False"),
        REPORT("a snapshot on a signal", on_signal,
               "ALLOC_CONF=snapshot_signal:10,snapshot_path:/tmp/xseg-watch-%p.json"),
        REPORT("R84: statistics, peaks and the largest block are there without the framework", r84),
        REPORT("R85: what is emptied goes back to the driver", r85),
        REPORT("R88: history keeps the newest and takes no more memory", r88,
               "ALLOC_CONF=history:1000"),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
