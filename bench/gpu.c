#include "bench/gpu.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "bench/failure.h"

#define STREAM_NON_BLOCKING  1u
#define EVENT_DISABLE_TIMING 2u

/* One thread waits for the device's clock. PTX, so that no compiler is needed; the driver translates it. */
static const char spin_ptx[] = ".version 6.0\n"
                               ".target sm_50\n"
                               ".address_size 64\n"
                               ".visible .entry spin(.param .u64 va, .param .u64 ns)\n"
                               "{\n"
                               "    .reg .u64 %rd<6>;\n"
                               "    .reg .pred %p<2>;\n"
                               "    .reg .u32 %r<2>;\n"
                               "    ld.param.u64 %rd1, [va];\n"
                               "    ld.param.u64 %rd2, [ns];\n"
                               "    mov.u64 %rd3, %globaltimer;\n"
                               "again:\n"
                               "    mov.u64 %rd4, %globaltimer;\n"
                               "    sub.u64 %rd5, %rd4, %rd3;\n"
                               "    setp.lt.u64 %p1, %rd5, %rd2;\n"
                               "    @%p1 bra again;\n"
                               "    mov.u32 %r1, 1;\n"
                               "    st.global.u32 [%rd1], %r1;\n"
                               "    ret;\n"
                               "}\n";

static const struct entry {
    bool is_required;
    size_t offset; /* of the pointer in struct xs_gpu */
    const char *symbol;
} entries[] = {
#define X(is_required, field, symbol, params) {is_required, offsetof(struct xs_gpu, field), symbol},
    XS_GPU_LIST(X)
#undef X
};

static bool check(const char *what, int code)
{
    return code == 0 || xs_bench_fail("%s: error %d", what, code);
}

/* ---- opening --------------------------------------------------------------------------------- */

static bool find_entries(struct xs_gpu *gpu, void *library)
{
    for (size_t i = 0; i < XS_BENCH_LENGTH(entries); i++) {
        void *found = dlsym(library, entries[i].symbol);
        if (found == NULL && entries[i].is_required)
            return xs_bench_fail("%s has no %s", gpu->path, entries[i].symbol);
        memcpy((char *)gpu + entries[i].offset, &found, sizeof(found));
    }
    return true;
}

static void load_spin(struct xs_gpu *gpu)
{
    void *module;
    bool can = gpu->module_load != NULL && gpu->module_function != NULL && gpu->launch != NULL;
    if (can && gpu->module_load(&module, spin_ptx) == 0)
        gpu->module_function(&gpu->spin, module, "spin");
}

bool xs_gpu_open(struct xs_gpu *gpu, const char *path)
{
    *gpu = (struct xs_gpu){0};
    snprintf(gpu->path, sizeof(gpu->path), "%s", path);
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL)
        return xs_bench_fail("%s", dlerror());
    gpu->is_simulator = dlsym(library, "xs_sim_cost_ns") != NULL;
    if (!find_entries(gpu, library) || !check("cuInit", gpu->init(0)) ||
        !check("cuDeviceGet", gpu->device_get(&gpu->device, 0)))
        return false;
    gpu->device_get_name(gpu->device_name, sizeof(gpu->device_name), gpu->device);
    if (!check("cuDevicePrimaryCtxRetain", gpu->context_retain(&gpu->context, gpu->device)))
        return false;
    if (xs_gpu_enter(gpu)) {
        load_spin(gpu);
        return true;
    }
    gpu->context_release(gpu->device);
    return false;
}

void xs_gpu_close(struct xs_gpu *gpu)
{
    gpu->context_set(NULL);
    gpu->context_release(gpu->device);
}

bool xs_gpu_enter(const struct xs_gpu *gpu)
{
    return check("cuCtxSetCurrent", gpu->context_set(gpu->context));
}

/* ---- streams and work ------------------------------------------------------------------------ */

bool xs_gpu_make_streams(const struct xs_gpu *gpu, xseg_stream *streams, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        int code = gpu->stream_create(&streams[i], STREAM_NON_BLOCKING);
        if (code != 0) {
            xs_gpu_destroy_streams(gpu, streams, i);
            return check("cuStreamCreate", code);
        }
    }
    return true;
}

void xs_gpu_destroy_streams(const struct xs_gpu *gpu, const xseg_stream *streams, size_t n)
{
    for (size_t i = 0; i < n; i++)
        gpu->stream_destroy(streams[i]);
}

bool xs_gpu_spin(const struct xs_gpu *gpu, void *va, uint64_t ns, xseg_stream stream)
{
    if (gpu->spin == NULL)
        return check("cuMemsetD32Async", gpu->fill_words(va, 1, 1, stream));
    void *parameters[] = {&va, &ns};
    return check("cuLaunchKernel",
                 gpu->launch(gpu->spin, 1, 1, 1, 1, 1, 1, 0, stream, parameters, NULL));
}

/* The event may be destroyed at once: the driver keeps it until it has passed. */
bool xs_gpu_order(const struct xs_gpu *gpu, xseg_stream first, xseg_stream second)
{
    void *event;
    if (!check("cuEventCreate", gpu->event_create(&event, EVENT_DISABLE_TIMING)))
        return false;
    bool ok = check("cuEventRecord", gpu->event_record(event, first)) &&
              check("cuStreamWaitEvent", gpu->stream_wait_event(second, event, 0));
    return check("cuEventDestroy", gpu->event_destroy(event)) && ok;
}

bool xs_gpu_wait(const struct xs_gpu *gpu)
{
    return check("cuCtxSynchronize", gpu->context_wait());
}

bool xs_gpu_used_bytes(const struct xs_gpu *gpu, uint64_t *bytes)
{
    size_t free_bytes = 0;
    size_t total_bytes = 0;
    int code = gpu->memory_info(&free_bytes, &total_bytes);
    *bytes = total_bytes - free_bytes;
    return check("cuMemGetInfo", code);
}
