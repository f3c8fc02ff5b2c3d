#include "sim/sim_entry.h"

#include <string.h>

#include "sim/sim_context.h"
#include "sim/sim_control.h"
#include "sim/sim_ledger.h"
#include "sim/sim_state.h"

enum {
    NEED_INIT = 1,
    NEED_CTX = 2,
    IN_HOST_FN = 4,
    ANY_CB = IN_HOST_FN,
    INIT = NEED_INIT,
    INIT_CB = NEED_INIT | IN_HOST_FN,
    CTX = NEED_INIT | NEED_CTX,
};

static const struct entry {
    const char *name;
    unsigned need;
} entries[XS_SIM_SYMBOLS] = {
#define X(symbol, need, params, args) {#symbol, need},
    XS_SIM_ENTRY_LIST(X)
#undef X
};

const char *xs_sim_symbol_name(enum xs_sim_symbol symbol)
{
    return entries[symbol].name;
}

static xs_cu_result enter(enum xs_sim_symbol symbol)
{
    const unsigned need = entries[symbol].need;
    struct xs_sim_thread *self = xs_sim_self();
    pthread_mutex_lock(&xs_sim.lock);
    self->call = entries[symbol].name;
    xs_sim_ledger_count(symbol);
    const xs_cu_result fault = xs_sim_ledger_fault(symbol);
    if (fault != XS_CUDA_SUCCESS)
        return fault;
    if ((need & NEED_INIT) && !xs_sim.initialised)
        return xs_sim_misuse(XS_CUDA_ERROR_NOT_INITIALIZED, "called before cuInit");
    if (self->in_host_fn && !(need & IN_HOST_FN))
        return xs_sim_misuse(XS_CUDA_ERROR_NOT_PERMITTED, "called inside a host function");
    return (need & NEED_CTX) ? xs_sim_context_require() : XS_CUDA_SUCCESS;
}

/*
 * The program sees a function by its symbol, and this library only by its static name: whatever is
 * preloaded may take the symbol over without the simulator ever calling itself through it.
 */
#define X(symbol, need, params, args)                                                              \
    static xs_cu_result entry_##symbol params                                                      \
    {                                                                                              \
        xs_cu_result result = enter(XS_SIM_SYM_##symbol);                                          \
        if (result == XS_CUDA_SUCCESS)                                                             \
            result = xs_sim_do_##symbol args;                                                      \
        pthread_mutex_unlock(&xs_sim.lock);                                                        \
        return result;                                                                             \
    }                                                                                              \
    XS_SIM_API xs_cu_result symbol params __attribute__((alias("entry_" #symbol)));
XS_SIM_ENTRY_LIST(X)
#undef X

static xs_cu_stream own_stream_for_null(xs_cu_stream stream)
{
    return stream ? stream : XS_CU_STREAM_PER_THREAD;
}

#define PT(stream) own_stream_for_null(stream)
#define P(symbol, base, params, args)                                                              \
    static xs_cu_result entry_##symbol params                                                      \
    {                                                                                              \
        return entry_##base args;                                                                  \
    }                                                                                              \
    XS_SIM_API xs_cu_result symbol params __attribute__((alias("entry_" #symbol)));
XS_SIM_PTSZ_LIST(P)
#undef P

static const struct exported {
    const char *name;
    void (*fn)(void);
} exported[] = {
#define X(symbol, need, params, args) {#symbol, (void (*)(void))entry_##symbol},
#define P(symbol, base, params, args) {#symbol, (void (*)(void))entry_##symbol},
    XS_SIM_ENTRY_LIST(X) XS_SIM_PTSZ_LIST(P)
#undef X
#undef P
};

/* The entry called `base` with `suffix` behind it, or NULL. */
static const struct exported *find_exported(const char *base, const char *suffix)
{
    const size_t n = strlen(base);
    for (size_t i = 0; i < XS_COUNT_OF(exported); i++)
        if (!strncmp(exported[i].name, base, n) && !strcmp(exported[i].name + n, suffix))
            return &exported[i];
    return NULL;
}

/* The newest version of `base`, as the real driver picks it: the program names no version. */
static const struct exported *find_version(const char *base, int version, uint64_t flags)
{
    static const char *const suffixes[] = {"_v2_ptsz", "_ptsz", "_v4", "_v2", ""};
    const bool per_thread = flags & XS_CU_PROC_PER_THREAD_STREAM;
    const struct exported *found = NULL;
    for (size_t i = per_thread ? 0 : 2; i < XS_COUNT_OF(suffixes) && !found; i++)
        if (strcmp(suffixes[i], "_v4") || version >= 12050)
            found = find_exported(base, suffixes[i]);
    return found;
}

xs_cu_result xs_sim_do_cuGetProcAddress(const char *symbol, void **fn, int version, uint64_t flags)
{
    return xs_sim_do_cuGetProcAddress_v2(symbol, fn, version, flags, NULL);
}

xs_cu_result xs_sim_do_cuGetProcAddress_v2(const char *symbol, void **fn, int version,
                                           uint64_t flags, int *status)
{
    if (!symbol || !fn)
        return xs_sim_misuse(XS_CUDA_ERROR_INVALID_VALUE, "NULL argument");
    const struct exported *found = find_version(symbol, version, flags);
    *fn = NULL;
    if (found)
        memcpy(fn, &found->fn, sizeof(*fn));
    if (status)
        *status = found ? XS_CU_PROC_FOUND : XS_CU_PROC_NOT_FOUND;
    return found ? XS_CUDA_SUCCESS : XS_CUDA_ERROR_NOT_FOUND;
}
