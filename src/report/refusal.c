#include "report/refusal.h"

#include <stdatomic.h>
#include <string.h>
#include <sys/auxv.h>

#include "base/error.h"
#include "base/fmt.h"
#include "base/log.h"
#include "base/thread.h"
#include "report/caller.h"
#include "report/diagnosis.h"
#include "report/snapshot_file.h"
#include "report/snapshot_take.h"
#include "stats/tag.h"

#define REPORT_BYTES 16384

/* From look() to tell(). */
struct report {
    struct xs_snapshot snapshot;
    struct xs_diagnosis diagnosis;
    struct xs_driver_error error;
    char code_name[64];
    char tag[XS_TAG_PATH_BYTES];
    char caller[XS_CALLER_BYTES];
    char error_text[XS_ERROR_TEXT_BYTES];
    bool is_logged;
    char save_as[XS_PATH_BYTES];
    char text[REPORT_BYTES];
    char json[REPORT_BYTES];
};

static struct {
    struct xs_lock lock;
    xseg_out_of_memory_fn fn;
    void *ctx;
} callback = {.lock = XS_LOCK_INITIALIZER(XS_RANK_TAGS)};

void xs_refusal_callback(xseg_out_of_memory_fn fn, void *ctx)
{
    xs_lock_acquire(&callback.lock);
    callback.fn = fn;
    callback.ctx = ctx;
    xs_lock_release(&callback.lock);
}

static struct xs_refusal refusal_of(struct report *r, const struct xs_refused *refused)
{
    const struct xs_request *request = refused->request;
    struct xs_refusal refusal = {
        .requested = request->requested,
        .bytes = request->bytes,
        .pool = xs_pool_name(request->pool->number, request->dev->caps.ordinal),
        .tag = xs_tag_path(xs_tag_current(), r->tag),
    };
    r->error = refused->error;
    if (r->error.code) {
        snprintf(r->code_name, sizeof(r->code_name), "%s", xs_driver_code_name(r->error.code));
        refusal.call = xs_driver_call_name(r->error.call);
        refusal.arguments = r->error.arguments;
        refusal.code_name = r->code_name;
        refusal.code = (int)r->error.code;
        refusal.is_out_of_memory = xs_driver_result(r->error.code) == XSEG_ERROR_OUT_OF_MEMORY;
    }
    return refusal;
}

/* One line, for xseg_last_error(). */
static void set_error_text(struct report *r)
{
    const struct xs_diagnosis *d = &r->diagnosis;
    uint64_t most = r->snapshot.stats.limit_bytes;
    char want[XS_FMT_BYTES], live[XS_FMT_BYTES], held[XS_FMT_BYTES], cached[XS_FMT_BYTES],
        largest[XS_FMT_BYTES], limit[XS_FMT_BYTES], verdict[400], call[256] = "";
    if (d->refusal.call && d->verdict != XS_VERDICT_DRIVER)
        snprintf(call, sizeof(call), "; %s(%s) returned %s", d->refusal.call, r->error.arguments,
                 r->code_name);
    xs_fail(XSEG_ERROR_OUT_OF_MEMORY,
            "out of memory on device %d: %s wanted%s; %s live, %s reserved, %s cached, largest "
            "request that fits %s, limit %s%s. %s",
            r->snapshot.device, xs_fmt_bytes(want, d->refusal.bytes),
            d->refusal.pool ? " in a private pool" : "", xs_fmt_bytes(live, d->live),
            xs_fmt_bytes(held, d->reserved), xs_fmt_bytes(cached, d->cached),
            xs_fmt_bytes(largest, d->largest),
            most == UINT64_MAX ? "none" : xs_fmt_bytes(limit, most), call,
            xs_verdict_text(d, verdict));
    snprintf(r->error_text, sizeof(r->error_text), "%s", xs_error_text());
}

static void read_wishes(struct report *r, struct xs_device *dev)
{
    xs_lock_acquire(&dev->lock);
    r->is_logged = dev->policy.oom_report;
    if (dev->policy.snapshot_on_oom && !getauxval(AT_SECURE))
        memcpy(r->save_as, dev->policy.snapshot_path, sizeof(r->save_as));
    xs_lock_release(&dev->lock);
}

static void *look(const struct xs_refused *refused)
{
    struct xs_device *dev = refused->request->dev;
    struct xs_array memory = {0};
    if (!xs_array_reserve(&memory, sizeof(struct report)))
        return NULL;
    struct report *r = memory.base;
    if (xs_snapshot_take(&r->snapshot, dev, refused->request->pool, refused->free_bytes)) {
        xs_array_drop(&memory);
        return NULL;
    }
    const struct xs_refusal refusal = refusal_of(r, refused);
    xs_diagnose(&r->diagnosis, &r->snapshot, &refusal);
    set_error_text(r);
    read_wishes(r, dev);
    return r;
}

static void print(struct report *r)
{
    struct xs_out out;
    struct xs_out_string text = {r->text, sizeof(r->text), 0}, json = {r->json, sizeof(r->json), 0};
    struct xs_json j = {.out = &out};
    xs_out_begin(&out, xs_out_to_text, &text);
    xs_diagnosis_print_text(&out, &r->diagnosis, 0);
    xs_out_end(&out);
    xs_out_begin(&out, xs_out_to_text, &json);
    xs_diagnosis_print_json(&j, &r->diagnosis, 0);
    xs_out_end(&out);
}

/* Line by line, as the log has it. */
static void log_text(const char *text)
{
    for (const char *end; (end = strchr(text, '\n')); text = end + 1)
        xs_log("%.*s", (int)(end - text), text);
}

static void call_back(const struct report *r)
{
    xs_lock_acquire(&callback.lock);
    xseg_out_of_memory_fn fn = callback.fn;
    void *ctx = callback.ctx;
    xs_lock_release(&callback.lock);
    if (fn)
        fn(ctx, r->snapshot.device, r->diagnosis.refusal.requested, r->text, r->json);
}

/* The thread's error stays what it was, whatever is called in here. */
static void tell(void *report)
{
    struct report *r = report;
    r->diagnosis.refusal.by = xs_caller(r->caller);
    print(r);
    if (r->is_logged)
        log_text(r->text);
    if (r->save_as[0] && xs_snapshot_save(r->save_as))
        xs_log("%s", xs_error_text());
    call_back(r);
    xs_fail(XSEG_ERROR_OUT_OF_MEMORY, "%s", r->error_text);
    struct xs_array memory = {r, xs_round_up(sizeof(*r), 64 * XS_KIB)};
    xs_snapshot_drop(&r->snapshot);
    xs_array_drop(&memory);
}

const struct xs_refusal_hooks xs_refusal_hooks = {look, tell};
