#include "cli/cuda.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "cli/beside.h"

#define REAL_LIBRARY "libcuda.so.1"

enum xseg_result xs_cuda_check(const char *symbol, int code)
{
    return code == 0 ? XSEG_OK : xs_fail(XSEG_ERROR_DRIVER, "%s: error %d", symbol, code);
}

bool xs_cuda_parse_choice(const char *text, enum xs_cuda_choice *choice)
{
    static const char *const names[] = {
        [XS_CUDA_AUTO] = "auto", [XS_CUDA_SIM] = "sim", [XS_CUDA_REAL] = "cuda"};
    for (size_t i = 0; i < XS_COUNT_OF(names); i++) {
        if (text == NULL || strcmp(text, names[i]) == 0) {
            *choice = (enum xs_cuda_choice)i;
            return true;
        }
    }
    return false;
}

/* ---- loading --------------------------------------------------------------------------------- */

static const struct entry {
    bool is_required;
    size_t offset; /* of the pointer in struct xs_cuda */
    const char *symbol;
} entries[] = {
#define X(is_required, field, symbol, params)                                                      \
    {is_required, offsetof(struct xs_cuda, field), symbol},
    XS_CUDA_LIST(X)
#undef X
};

static enum xseg_result find_entries(struct xs_cuda *cuda)
{
    for (size_t i = 0; i < XS_COUNT_OF(entries); i++) {
        void *found = dlsym(cuda->library, entries[i].symbol);
        if (found == NULL && entries[i].is_required)
            return xs_fail(XSEG_ERROR_NO_DRIVER, "%s has no %s", cuda->path, entries[i].symbol);
        memcpy((char *)cuda + entries[i].offset, &found, sizeof(found));
    }
    return XSEG_OK;
}

static enum xseg_result open_device(struct xs_cuda *cuda)
{
    int count = 0;
    void *context;
    int code = cuda->init(0);
    if (code != 0)
        return xs_fail(XSEG_ERROR_NO_DEVICE, "%s: cuInit: error %d", cuda->path, code);
    code = cuda->device_count(&count);
    if (code != 0 || count == 0)
        return xs_fail(XSEG_ERROR_NO_DEVICE, "%s: no device", cuda->path);
    enum xseg_result result = xs_cuda_check("cuDeviceGet", cuda->device_get(&cuda->device, 0));
    if (result != XSEG_OK)
        return result;
    cuda->device_get_name(cuda->device_name, sizeof(cuda->device_name), cuda->device);
    code = cuda->context_retain(&context, cuda->device);
    if (code != 0)
        return xs_cuda_check("cuDevicePrimaryCtxRetain", code);
    code = cuda->context_set(context);
    if (code != 0)
        cuda->context_release(cuda->device);
    return xs_cuda_check("cuCtxSetCurrent", code);
}

static enum xseg_result open_library(struct xs_cuda *cuda)
{
    cuda->library = dlopen(cuda->path, RTLD_NOW | RTLD_LOCAL);
    if (cuda->library == NULL)
        return xs_fail(XSEG_ERROR_NO_DRIVER, "%s", dlerror());
    cuda->is_simulator = dlsym(cuda->library, "xs_sim_cost_ns") != NULL;
    *(void **)&cuda->sim_advance = dlsym(cuda->library, "xs_sim_stream_advance");
    *(void **)&cuda->sim_queued = dlsym(cuda->library, "xs_sim_queued");
    *(void **)&cuda->sim_reach_after = dlsym(cuda->library, "xs_sim_reach_after");
    enum xseg_result result = find_entries(cuda);
    if (result == XSEG_OK)
        result = open_device(cuda);
    return result; /* not closed on failure: a driver that has run leaves threads behind */
}

/* ---- choosing -------------------------------------------------------------------------------- */

static enum xseg_result find_simulator(char path[XS_CUDA_PATH_BYTES])
{
    static const char *const places[] = {"sim/libcuda.so.1", "../lib/xseg/sim/libcuda.so.1"};
    const char *named = getenv("XSEG_SIM_LIBRARY");
    if (named != NULL && named[0] != '\0') {
        snprintf(path, XS_CUDA_PATH_BYTES, "%s", named);
        return XSEG_OK;
    }
    if (xs_beside_find(places, XS_COUNT_OF(places), path, XS_CUDA_PATH_BYTES))
        return XSEG_OK;
    return xs_fail(XSEG_ERROR_NO_DRIVER,
                   "no simulator: XSEG_SIM_LIBRARY is not set, and %s has no %s", path, places[0]);
}

static enum xseg_result open_simulator(struct xs_cuda *cuda, bool needs_data)
{
    enum xseg_result result = find_simulator(cuda->path);
    if (result != XSEG_OK)
        return result;
    setenv("XSEG_SIM_DATA", needs_data ? "1" : "0", needs_data);
    return open_library(cuda);
}

static enum xseg_result open_real(struct xs_cuda *cuda)
{
    snprintf(cuda->path, sizeof(cuda->path), "%s", REAL_LIBRARY);
    return open_library(cuda);
}

enum xseg_result xs_cuda_open(struct xs_cuda *cuda, enum xs_cuda_choice choice, bool needs_data)
{
    *cuda = (struct xs_cuda){0};
    if (choice == XS_CUDA_SIM)
        return open_simulator(cuda, needs_data);
    enum xseg_result result = open_real(cuda);
    if (result == XSEG_OK || choice == XS_CUDA_REAL)
        return result;
    snprintf(cuda->no_gpu, sizeof(cuda->no_gpu), "%s", xs_error_text());
    return open_simulator(cuda, needs_data);
}

void xs_cuda_close(struct xs_cuda *cuda)
{
    cuda->context_set(NULL);
    cuda->context_release(cuda->device);
}

enum xseg_result xs_cuda_used_bytes(const struct xs_cuda *cuda, uint64_t *bytes)
{
    size_t free_bytes = 0;
    size_t total_bytes = 0;
    int code = cuda->memory_info(&free_bytes, &total_bytes);
    *bytes = total_bytes - free_bytes;
    return xs_cuda_check("cuMemGetInfo", code);
}
