/*
 * The kernel is PTX, so that no compiler is needed to build; the driver translates it for the GPU it
 * finds (sm_70 and later). It counts in a variable of its module, so that checking allocates no
 * device memory that a comparison with cuMemGetInfo would see.
 */
#include "cli/verify.h"

#include <stdlib.h>

#include "base/error.h"

#define KERNEL  "xseg_check_words"
#define COUNTER "xseg_mismatches"
#define EDGE    64   /* bytes at either end of a block that the processor looks at */
#define STRIDE  4096 /* and the distance of those that it looks at in between */
#define THREADS 256
#define BLOCKS  1024

/* The low 32 bits of a counter would do for a verdict, not for a report: 64 bits are added. */
static const char kernel_ptx[] =
    ".version 7.0\n"
    ".target sm_70\n"
    ".address_size 64\n"
    ".visible .global .align 8 .u64 " COUNTER " = 0;\n"
    ".visible .entry " KERNEL "(.param .u64 words, .param .u64 count, .param .u32 expected)\n"
    "{\n"
    "    .reg .pred %p<4>;\n"
    "    .reg .b32 %r<8>;\n"
    "    .reg .b64 %rd<12>;\n"
    "    ld.param.u64 %rd1, [words];\n"
    "    ld.param.u64 %rd2, [count];\n"
    "    ld.param.u32 %r1, [expected];\n"
    "    cvta.to.global.u64 %rd3, %rd1;\n"
    "    mov.u32 %r2, %ctaid.x;\n"
    "    mov.u32 %r3, %ntid.x;\n"
    "    mov.u32 %r4, %tid.x;\n"
    "    mov.u32 %r5, %nctaid.x;\n"
    "    cvt.u64.u32 %rd4, %r4;\n"
    "    mul.wide.u32 %rd5, %r2, %r3;\n"
    "    add.u64 %rd5, %rd5, %rd4;\n"    /* this thread's first word */
    "    mul.wide.u32 %rd6, %r5, %r3;\n" /* all threads: the stride */
    "    mov.u64 %rd7, 0;\n"
    "next:\n"
    "    setp.ge.u64 %p1, %rd5, %rd2;\n"
    "    @%p1 bra done;\n"
    "    shl.b64 %rd8, %rd5, 2;\n"
    "    add.u64 %rd8, %rd3, %rd8;\n"
    "    ld.global.u32 %r6, [%rd8];\n"
    "    setp.ne.u32 %p2, %r6, %r1;\n"
    "    @%p2 add.u64 %rd7, %rd7, 1;\n"
    "    add.u64 %rd5, %rd5, %rd6;\n"
    "    bra next;\n"
    "done:\n"
    "    setp.eq.u64 %p3, %rd7, 0;\n"
    "    @%p3 bra leave;\n"
    "    mov.u64 %rd9, " COUNTER ";\n"
    "    atom.global.add.u64 %rd10, [%rd9], %rd7;\n"
    "leave:\n"
    "    ret;\n"
    "}\n";

struct block {
    uint64_t bytes;
    xseg_stream stream;
    uint32_t word;
};

struct xs_verify {
    const struct xs_cuda *cuda;
    struct block *blocks; /* by slot */
    uint64_t mismatches;  /* seen by the processor */

    /* On a GPU only. */
    void *module;
    void *check_kernel;
    unsigned long long counter;
    int first_code; /* of the first call that failed */
    const char *first_symbol;
};

static uint32_t mix(uint64_t n)
{
    n = (n + 1) * 0x9e3779b97f4a7c15ull;
    n = (n ^ n >> 29) * 0xbf58476d1ce4e5b9ull;
    return (uint32_t)(n >> 32);
}

/* ---- by the processor ------------------------------------------------------------------------ */

static uint8_t expected_at(const struct block *b, uint64_t offset)
{
    return (uint8_t)mix(b->word ^ offset << 32);
}

/* The next offset that is looked at: the edges whole, in between one byte every STRIDE. */
static uint64_t next_offset(const struct block *b, uint64_t offset)
{
    uint64_t tail = b->bytes > EDGE ? b->bytes - EDGE : 0;
    if (offset + 1 < EDGE || offset >= tail)
        return offset + 1;
    uint64_t sample = (offset / STRIDE + 1) * STRIDE;
    return sample < tail ? sample : tail;
}

static void fill_on_host(const struct block *b, uint8_t *data)
{
    for (uint64_t at = 0; at < b->bytes; at = next_offset(b, at))
        data[at] = expected_at(b, at);
}

static uint64_t check_on_host(const struct block *b, const uint8_t *data)
{
    uint64_t wrong = 0;
    for (uint64_t at = 0; at < b->bytes; at = next_offset(b, at))
        wrong += data[at] != expected_at(b, at);
    return wrong;
}

/* ---- by the GPU ------------------------------------------------------------------------------ */

static void note_code(struct xs_verify *v, const char *symbol, int code)
{
    if (code != 0 && v->first_code == 0) {
        v->first_code = code;
        v->first_symbol = symbol;
    }
}

static void launch_check(struct xs_verify *v, unsigned long long va, uint64_t words,
                         uint32_t expected, xseg_stream stream)
{
    void *parameters[] = {&va, &words, &expected};
    uint64_t blocks = xs_round_up(words, THREADS) / THREADS;
    unsigned grid = (unsigned)xs_max(1, xs_min(blocks, BLOCKS));
    note_code(
        v, "cuLaunchKernel",
        v->cuda->launch(v->check_kernel, grid, 1, 1, THREADS, 1, 1, 0, stream, parameters, NULL));
}

static enum xseg_result load_kernel(struct xs_verify *v)
{
    const struct xs_cuda *cuda = v->cuda;
    if (cuda->fill_words == NULL || cuda->copy_to_host == NULL || cuda->module_load == NULL ||
        cuda->module_unload == NULL || cuda->module_function == NULL ||
        cuda->module_global == NULL || cuda->launch == NULL)
        return xs_fail(XSEG_ERROR_NOT_SUPPORTED, "%s cannot load and launch a kernel", cuda->path);
    int code = cuda->module_load(&v->module, kernel_ptx);
    if (code != 0)
        return xs_cuda_check("cuModuleLoadData", code);
    size_t bytes = 0;
    note_code(v, "cuModuleGetFunction", cuda->module_function(&v->check_kernel, v->module, KERNEL));
    note_code(v, "cuModuleGetGlobal", cuda->module_global(&v->counter, &bytes, v->module, COUNTER));
    if (v->first_code != 0)
        cuda->module_unload(v->module);
    return xs_cuda_check(v->first_symbol, v->first_code);
}

/* ---- either ---------------------------------------------------------------------------------- */

enum xseg_result xs_verify_open(struct xs_verify **verify, const struct xs_cuda *cuda,
                                size_t n_slots)
{
    struct xs_verify *v = calloc(1, sizeof(*v));
    struct block *blocks = calloc(n_slots + 1, sizeof(*blocks));
    enum xseg_result result = XSEG_OK;
    if (v == NULL || blocks == NULL) {
        result = xs_fail(XSEG_ERROR_HOST_MEMORY, "no memory to verify %zu blocks", n_slots);
    } else {
        v->cuda = cuda;
        v->blocks = blocks;
        result = cuda->is_simulator ? XSEG_OK : load_kernel(v);
    }
    if (result != XSEG_OK) {
        free(blocks);
        free(v);
        return result;
    }
    *verify = v;
    return XSEG_OK;
}

void xs_verify_warm(struct xs_verify *v, xseg_stream stream)
{
    if (v->cuda->is_simulator)
        return;
    note_code(v, "cuMemsetD32Async", v->cuda->fill_words(v->counter, 0, 2, stream));
    launch_check(v, 0, 0, 0, stream);
}

void xs_verify_fill(struct xs_verify *v, uint32_t slot, void *ptr, uint64_t bytes,
                    xseg_stream stream, uint64_t seed)
{
    struct block *b = &v->blocks[slot];
    *b = (struct block){bytes, stream, mix(seed)};
    if (v->cuda->is_simulator)
        fill_on_host(b, ptr);
    else if (bytes >= 4)
        note_code(v, "cuMemsetD32Async",
                  v->cuda->fill_words((uintptr_t)ptr, b->word, bytes / 4, stream));
}

void xs_verify_check(struct xs_verify *v, uint32_t slot, void *ptr)
{
    const struct block *b = &v->blocks[slot];
    if (v->cuda->is_simulator)
        v->mismatches += check_on_host(b, ptr);
    else if (b->bytes >= 4)
        launch_check(v, (uintptr_t)ptr, b->bytes / 4, b->word, b->stream);
}

enum xseg_result xs_verify_finish(struct xs_verify *v, uint64_t *mismatches)
{
    uint64_t counted = 0;
    if (!v->cuda->is_simulator)
        note_code(v, "cuMemcpyDtoH", v->cuda->copy_to_host(&counted, v->counter, sizeof(counted)));
    *mismatches = v->mismatches + counted;
    return xs_cuda_check(v->first_symbol, v->first_code);
}

void xs_verify_close(struct xs_verify *v)
{
    if (v->module != NULL)
        v->cuda->module_unload(v->module);
    free(v->blocks);
    free(v);
}
