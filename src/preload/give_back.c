#include "preload/give_back.h"

#include "core/reading.h"
#include "core/runtime.h"
#include "core/trim.h"
#include "driver/driver.h"
#include "preload/capture.h"
#include "preload/door.h"
#include "preload/report.h"

struct holding {
    uint64_t reserved;
    uint64_t cached;
};

static struct holding held(void)
{
    struct holding sum = {0};
    for (int i = 0; i < XS_DEVICE_LIMIT; i++) {
        struct xs_device *dev = xs_runtime_open_device(i);
        struct xseg_stats s;
        if (!dev)
            continue;
        xs_reading_take_brief(dev, &s);
        sum.reserved += s.reserved_bytes.current;
        sum.cached += s.cached_bytes.current;
    }
    return sum;
}

/* An error leaves memory where it was: the count says so. */
static void trim_all(bool wait)
{
    for (int i = 0; i < XS_DEVICE_LIMIT; i++) {
        struct xs_device *dev = xs_runtime_open_device(i);
        struct xs_context_scope scope;
        if (!dev)
            continue;
        if (wait && !xs_context_enter(&dev->context, &scope)) {
            xs_cu_ctx_synchronize();
            xs_context_leave(&scope);
        }
        xs_trim(dev, 0);
    }
}

bool xs_give_back(void)
{
    if (!xs_door_is_open() || xs_runtime_is_over())
        return false;
    struct holding before = held();
    if (!before.cached)
        return false;
    trim_all(false);
    struct holding now = held();
    if (now.cached && !xs_capture_is_open()) {
        trim_all(true);
        now = held();
    }
    bool any = now.reserved < before.reserved;
    if (any)
        xs_report_note_given_back();
    return any;
}
