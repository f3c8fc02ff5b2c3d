/*
 * A libcuda.so.1 that has nothing itself, as on WSL: every function asks the real one's handle for the function of
 * the same name, by dlsym, at its first call. What it asks must be answered with the real one's own. And like the real
 * one it loads the tool that CUDA_INJECTION64_PATH names.
 */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "sim/sim_abi.h"
#include "sim/sim_control.h"
#include "sim/sim_entry_list.h"

xs_cu_result cuMemAlloc_v2(xs_cu_ptr *va, size_t bytes);

/* R69: what it asks of itself is its own too. */
static void check_own(void)
{
    void *self = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
    if (!self || dlsym(self, "cuMemAlloc_v2") != (void *)cuMemAlloc_v2)
        abort();
}

/* What cuInit does first. */
static void load_tool(void)
{
    const char *path = getenv("CUDA_INJECTION64_PATH");
    int (*initialize)(void);
    void *tool = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    if (path && !tool)
        abort();
    if (!tool)
        return;
    *(void **)&initialize = dlsym(tool, "InitializeInjection");
    if (!initialize())
        abort();
}

static void *real(const char *symbol)
{
    static void *library;
    check_own();
    if (strcmp(symbol, "cuInit") == 0)
        load_tool();
    if (!library)
        library = dlopen(getenv("TEST_REAL_DRIVER"), RTLD_NOW | RTLD_LOCAL);
    void *found = library ? dlsym(library, symbol) : NULL;
    return found ? found : (abort(), NULL);
}

#define FORWARD(result, symbol, params, args)                                                      \
    __attribute__((visibility("default"))) result symbol params                                    \
    {                                                                                              \
        static result(*native_) params;                                                            \
        if (!native_)                                                                              \
            *(void **)&native_ = real(#symbol);                                                    \
        return native_ args;                                                                       \
    }

#define X(symbol, need, params, args)                                                              \
    xs_cu_result symbol params;                                                                    \
    FORWARD(xs_cu_result, symbol, params, args)
XS_SIM_ENTRY_LIST(X)
#undef X

FORWARD(uint64_t, xs_sim_calls, (const char *symbol), (symbol))
FORWARD(size_t, xs_sim_violations, (void), ())
FORWARD(const char *, xs_sim_last_violation, (void), ())
FORWARD(void, xs_sim_clear_violations, (void), ())
FORWARD(void, xs_sim_fail, (const char *symbol, uint64_t nth, xs_cu_result code),
        (symbol, nth, code))
FORWARD(void, xs_sim_live, (struct xs_sim_live * out), (out))
