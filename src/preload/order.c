#include "preload/order.h"

#include <pthread.h>

#include "core/runtime.h"
#include "driver/driver.h"

_Atomic bool xs_order_several;

static struct {
    pthread_mutex_t lock;
    _Atomic int first_device; /* -1: none yet */
    _Atomic(const char *) cause;
} order = {.lock = PTHREAD_MUTEX_INITIALIZER, .first_device = -1};

const char *xs_order_cause(void)
{
    return atomic_load(&order.cause);
}

void xs_order_set_several(const char *cause)
{
    const char *none = NULL;
    atomic_compare_exchange_strong(&order.cause, &none, cause);
    atomic_store_explicit(&xs_order_several, true, memory_order_release);
}

/* A stream that captures, or a kernel that has failed, makes the wait fail: the program's own next call will
 * say so. */
static void wait_for_legacy(struct xs_device *dev)
{
    struct xs_context_scope scope;
    if (xs_context_enter(&dev->context, &scope))
        return;
    xs_cu_stream_synchronize(NULL);
    xs_context_leave(&scope);
}

void xs_order_begin_several(const char *cause)
{
    pthread_mutex_lock(&order.lock);
    bool first = !xs_order_is_several();
    /* Set before the wait: what is freed after it does not count on the old order any more. */
    xs_order_set_several(cause);
    for (int i = 0; first && i < XS_DEVICE_LIMIT; i++) {
        struct xs_device *dev = xs_runtime_open_device(i);
        if (dev)
            wait_for_legacy(dev);
    }
    pthread_mutex_unlock(&order.lock);
}

void xs_order_note_device(int ordinal)
{
    int none = -1;
    if (!atomic_compare_exchange_strong(&order.first_device, &none, ordinal) && none != ordinal &&
        !xs_order_is_several())
        xs_order_begin_several("use of a second device");
}
