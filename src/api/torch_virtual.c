/*
 * What PyTorch's pluggable allocator refuses without a hook: the largest free block, which cuDNN's benchmark mode asks
 * for, and copies between devices, which cudaMemcpyAsync() cannot do on extents. Both are virtual functions of the
 * allocator's C++ object, which has its table of them swapped for a copy of it with ours at the same places. A place is
 * found by the address of PyTorch's own function, which its library exports by name; where a name or the table is
 * not as expected, nothing is changed.
 */
#include <dlfcn.h>
#include <link.h>
#include <stdint.h>
#include <string.h>

#include "base/error.h"
#include "base/meta.h"
#include "xseg/torch.h"

#define CLASS "5torch4cuda22CUDAPluggableAllocator22CUDAPluggableAllocator"

typedef int (*copy_peer)(void *to, int to_device, const void *from, int from_device, size_t bytes,
                         xseg_stream stream);
typedef int (*copy_within)(void *to, const void *from, size_t bytes, int kind, xseg_stream stream);

#define DEVICE_TO_DEVICE 3 /* cudaMemcpyDeviceToDevice */

static struct {
    copy_peer peer;
    copy_within within;
} runtime_copy;

/* void cacheInfo(DeviceIndex device, size_t *largest): what a workspace may take. Extents can be put together, so it
 * is all that is free. */
static void cache_info(void *self, int8_t device, size_t *largest)
{
    (void)self;
    size_t free_bytes;
    if (!xseg_memory_info(device, &free_bytes, NULL))
        *largest = free_bytes;
}

/* cudaError_t memcpyAsync(void *, int, const void *, int, size_t, cudaStream_t, bool) */
static int copy(void *self, void *to, int to_device, const void *from, int from_device,
                size_t bytes, xseg_stream stream, bool has_access)
{
    (void)self;
    (void)has_access;
    if (to_device == from_device)
        return runtime_copy.within(to, from, bytes, DEVICE_TO_DEVICE, stream);
    return runtime_copy.peer(to, to_device, from, from_device, bytes, stream);
}

static const struct {
    const char *name;
    void (*function)(void);
} replacements[] = {
    {"_ZN" CLASS "9cacheInfoEaPm", (void (*)(void))cache_info},
    {"_ZN" CLASS "11memcpyAsyncEPviPKvimP11CUstream_stb", (void (*)(void))copy},
};

static void *loaded(const char *library)
{
    return dlopen(library, RTLD_NOW | RTLD_NOLOAD);
}

static bool find_copies(void *library)
{
    *(void **)&runtime_copy.peer = dlsym(library, "cudaMemcpyPeerAsync");
    *(void **)&runtime_copy.within = dlsym(library, "cudaMemcpyAsync");
    return runtime_copy.peer && runtime_copy.within;
}

static size_t symbol_bytes(const void *address)
{
    Dl_info info;
    const ElfW(Sym) *symbol = NULL;
    if (!dladdr1(address, &info, (void **)&symbol, RTLD_DL_SYMENT) || !symbol)
        return 0;
    return symbol->st_size;
}

/* How many functions of the copy are ours now. */
static int replace(void *library, void **table, size_t entries)
{
    int replaced = 0;
    for (size_t i = 0; i < XS_COUNT_OF(replacements); i++) {
        const void *theirs = dlsym(library, replacements[i].name);
        for (size_t k = 0; theirs && k < entries; k++) {
            if (table[k] != theirs)
                continue;
            memcpy(&table[k], &replacements[i].function, sizeof(void *));
            replaced++;
        }
    }
    return replaced;
}

/* The table begins with an offset and the type; objects point behind them. */
#define HEADER 2

static int adopt(void *library, void **object)
{
    void *table = dlsym(library, "_ZTVN" CLASS "E");
    size_t bytes = table ? symbol_bytes(table) : 0;
    if (!bytes || *object != (void **)table + HEADER)
        return 0;
    void **copied = xs_meta_map(bytes);
    if (!copied)
        return 0;
    memcpy(copied, table, bytes);
    int replaced = replace(library, copied, bytes / sizeof(void *));
    if (replaced)
        *object = copied + HEADER;
    else
        xs_meta_unmap(copied, bytes);
    return replaced;
}

int xseg_torch_adopt(void)
{
    void *c10 = loaded("libc10_cuda.so"), *library = loaded("libtorch_cuda.so");
    void **current = c10 ? dlsym(c10, "_ZN3c104cuda20CUDACachingAllocator9allocatorE") : NULL;
    int replaced = 0;
    if (library && current && *current && find_copies(library))
        replaced = adopt(library, *current);
    if (c10)
        dlclose(c10);
    if (library)
        dlclose(library);
    return replaced;
}
