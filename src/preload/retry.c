/* Requests for memory of kinds that the library does not serve: the driver's, and asked once more where what the
 * library caches was in their way. */
#include "preload/entry.h"
#include "preload/give_back.h"

#define R(symbol, since, params, args)                                                             \
    xs_cu_result symbol params                                                                     \
    {                                                                                              \
        xs_cu_result code = xs_native_##symbol args;                                               \
        return xs_give_back_for(code) ? xs_native_##symbol args : code;                            \
    }
XS_ENTRY_RETRY_LIST(R)
