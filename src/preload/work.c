/* What gives work to streams: noted where it is the first on a stream other than the legacy one; and asked of the
 * driver once more where it lacked memory, since kernels are loaded at their first launch. */
#include "preload/door.h"
#include "preload/entry.h"
#include "preload/give_back.h"
#include "preload/order.h"

static void note(xs_cu_stream stream, const char *cause)
{
    if (xs_door_is_open())
        xs_order_note_work(stream, cause);
}

static xs_cu_stream or_own(xs_cu_stream stream)
{
    return stream ? stream : XS_CU_STREAM_PER_THREAD;
}

#define DEFINE_WORK(symbol, params, args, stream)                                                  \
    xs_cu_result symbol params                                                                     \
    {                                                                                              \
        note(stream, #symbol);                                                                     \
        xs_cu_result code = xs_native_##symbol args;                                               \
        return xs_give_back_for(code) ? xs_native_##symbol args : code;                            \
    }
#define W(symbol, since, params, args, stream)                                                     \
    DEFINE_WORK(symbol, params, args, stream)                                                      \
    DEFINE_WORK(symbol##_ptsz, params, args, or_own(stream))
#define T(symbol, since, params, args) DEFINE_WORK(symbol, params, args, XS_CU_STREAM_PER_THREAD)

XS_ENTRY_WORK_LIST(W)
XS_ENTRY_THREAD_LIST(T)
