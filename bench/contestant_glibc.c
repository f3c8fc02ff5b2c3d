/* The control: malloc and free of 64 bytes, so that a ratio to it can be quoted on any machine. */
#include <stdlib.h>

#include "bench/contestant.h"

#define CONTROL_BYTES 64

static bool open_glibc(const struct xs_gpu *gpu, const char *conf)
{
    (void)gpu;
    (void)conf;
    return true;
}

static void close_glibc(void) {}

static int alloc(void **ptr, size_t bytes, xseg_stream stream)
{
    (void)bytes;
    (void)stream;
    *ptr = malloc(CONTROL_BYTES);
    XS_BENCH_KEEP(*ptr);
    return *ptr == NULL;
}

static int free_block(void *ptr, size_t bytes, xseg_stream stream)
{
    (void)bytes;
    (void)stream;
    free(ptr);
    return 0;
}

const struct xs_contestant xs_contestant_glibc = {
    .name = "glibc",
    .only_bytes = CONTROL_BYTES,
    .open = open_glibc,
    .close = close_glibc,
    .alloc = alloc,
    .free = free_block,
};
