/* xseg itself, through the public C API, linked in. */
#include "bench/contestant.h"
#include "bench/failure.h"

#define DEVICE 0

static bool check(const char *call, enum xseg_result result)
{
    return result == XSEG_OK ||
           xs_bench_fail("%s: %s: %s", call, xseg_result_name(result), xseg_last_error());
}

static bool open_xseg(const struct xs_gpu *gpu, const char *conf)
{
    return check("xseg_use_driver_library", xseg_use_driver_library(gpu->path)) &&
           (conf == NULL || check("xseg_configure", xseg_configure(conf)));
}

static void close_xseg(void)
{
    check("xseg_shutdown", xseg_shutdown());
}

static int alloc(void **ptr, size_t bytes, xseg_stream stream)
{
    return (int)xseg_malloc(ptr, bytes, DEVICE, stream);
}

static int free_block(void *ptr, size_t bytes, xseg_stream stream)
{
    (void)bytes;
    (void)stream;
    return (int)xseg_free(ptr);
}

static const char *explain(int code)
{
    (void)code;
    return xseg_last_error();
}

static void trim(void)
{
    check("xseg_empty_cache", xseg_empty_cache(DEVICE));
}

static bool limit(size_t bytes)
{
    return check("xseg_set_limit", xseg_set_limit(DEVICE, bytes));
}

static bool used_on(void *ptr, xseg_stream stream)
{
    return check("xseg_record_stream", xseg_record_stream(ptr, stream));
}

/* As a framework does that owns its streams; without it each request asks the driver who the stream is. */
static bool vouch(xseg_stream stream, bool begins)
{
    return begins ? check("xseg_stream_register", xseg_stream_register(DEVICE, stream))
                  : check("xseg_stream_unregister", xseg_stream_unregister(DEVICE, stream));
}

/* clang-format off */
#define COMMON                                                                                     \
    .open = open_xseg, .close = close_xseg, .alloc = alloc, .free = free_block,                    \
    .explain = explain, .trim = trim, .limit = limit, .used_on = used_on
/* clang-format on */

const struct xs_contestant xs_contestant_xseg = {.name = "xseg", COMMON, .vouch = vouch};
const struct xs_contestant xs_contestant_xseg_by_id = {.name = "xseg_by_id", COMMON};
