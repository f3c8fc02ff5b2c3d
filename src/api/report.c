/* The part of the public C API that shows what the allocator knows: checks arguments and calls down. */
#include <unistd.h>

#include "base/error.h"
#include "core/reading.h"
#include "core/runtime.h"
#include "core/track.h"
#include "report/diagnosis.h"
#include "report/refusal.h"
#include "report/snapshot_file.h"
#include "report/snapshot_take.h"
#include "report/stats_print.h"
#include "xseg/xseg.h"

/* What a caller wants written to. */
struct receiver {
    xseg_write write;
    void *ctx;
};

static bool hand_on(void *receiver, const char *bytes, size_t n)
{
    const struct receiver *r = receiver;
    if (!r->write)
        return xs_out_to_fd(XS_OUT_FD(STDERR_FILENO), bytes, n);
    r->write(r->ctx, bytes, n);
    return true;
}

static size_t max_split_size(int device)
{
    struct xs_device *dev = xs_runtime_open_device(device);
    if (!dev)
        return SIZE_MAX;
    xs_lock_acquire(&dev->lock);
    size_t bytes = dev->policy.max_split_size;
    xs_lock_release(&dev->lock);
    return bytes;
}

static void print_stats(struct xs_out *out, enum xseg_format format, const struct xseg_stats *s)
{
    struct xs_json j = {.out = out};
    switch (format) {
    case XSEG_FORMAT_TEXT:
        xs_stats_print_text(out, s);
        return;
    case XSEG_FORMAT_JSON:
        xs_stats_print_json(&j, NULL, s, max_split_size(s->device));
        xs_out_text(out, "\n");
        return;
    case XSEG_FORMAT_PROMETHEUS:
        xs_stats_print_prometheus(out, &(struct xs_stats_sample){"", s}, 1);
    }
}

enum xseg_result xseg_stats_print(int device, enum xseg_format format, xseg_write write, void *ctx)
{
    if ((unsigned)format > XSEG_FORMAT_PROMETHEUS)
        return xs_fail(XSEG_ERROR_INVALID_VALUE, "xseg_stats_print: no format has the number %d",
                       (int)format);
    struct xseg_stats s = {.size = sizeof(s)};
    enum xseg_result e = xseg_get_stats(device, &s);
    if (e)
        return e;
    struct receiver receiver = {write, ctx};
    struct xs_out out;
    xs_out_begin(&out, hand_on, &receiver);
    print_stats(&out, format, &s);
    return xs_out_end(&out) ? XSEG_OK
                            : xs_fail(XSEG_ERROR_IO, "xseg_stats_print: could not be written");
}

enum xseg_result xseg_tag_push(const char *name)
{
    if (!name || !name[0])
        return xs_fail(XSEG_ERROR_INVALID_VALUE, "xseg_tag_push: no name");
    enum xseg_result e = xs_tag_push(name);
    if (!e)
        xs_track_tag();
    return e;
}

enum xseg_result xseg_tag_pop(void)
{
    enum xseg_result e = xs_tag_pop();
    if (!e)
        xs_track_tag();
    return e;
}

enum xseg_result xseg_snapshot(const char *path)
{
    if (!path)
        return xs_fail(XSEG_ERROR_INVALID_VALUE, "xseg_snapshot: path is NULL");
    return xs_snapshot_save(path);
}

enum xseg_result xseg_on_out_of_memory(xseg_out_of_memory_fn fn, void *ctx)
{
    xs_refusal_callback(fn, ctx);
    return XSEG_OK;
}

static bool print_diagnosis(struct receiver *receiver, const struct xs_snapshot *s, bool is_json)
{
    struct xs_diagnosis d;
    struct xs_out out;
    struct xs_json j = {.out = &out};
    xs_diagnose(&d, s, &(struct xs_refusal){0});
    xs_out_begin(&out, hand_on, receiver);
    if (is_json)
        xs_diagnosis_print_json(&j, &d, 0);
    else
        xs_diagnosis_print_text(&out, &d, 0);
    return xs_out_end(&out);
}

enum xseg_result xseg_diagnose(int device, enum xseg_format format, xseg_write write, void *ctx)
{
    if (format != XSEG_FORMAT_TEXT && format != XSEG_FORMAT_JSON)
        return xs_fail(XSEG_ERROR_INVALID_VALUE, "xseg_diagnose: no such format");
    struct xs_device *dev = xs_runtime_open_device(device);
    if (!dev)
        return xs_fail(XSEG_ERROR_NO_DEVICE, "device %d is not in use", device);
    struct xs_snapshot s;
    enum xseg_result e = xs_snapshot_take(&s, dev, &dev->main, xs_reading_device_free(dev));
    if (e)
        return e;
    struct receiver receiver = {write, ctx};
    bool ok = print_diagnosis(&receiver, &s, format == XSEG_FORMAT_JSON);
    xs_snapshot_drop(&s);
    return ok ? XSEG_OK : xs_fail(XSEG_ERROR_IO, "xseg_diagnose: could not be written");
}
