/*
 * What PyTorch's pluggable allocator refuses without a hook, or does as if its memory came from cudaMalloc: the largest
 * free block, which cuDNN's benchmark mode asks for, copies between devices and their access to each other's memory,
 * which the CUDA runtime cannot do for extents, and tensors of other processes. These are virtual functions of the
 * allocator's C++ object, which has its table of them swapped for a copy of it with ours at the same places. A place is
 * found by the address of PyTorch's own function, which its library exports by name; where a name or the table is
 * not as expected, nothing is changed.
 */
#include "api/torch_virtual.h"

#include <dlfcn.h>
#include <link.h>
#include <stdint.h>
#include <string.h>

#include "api/torch_memory.h"
#include "api/torch_share.h"
#include "api/torch_throw.h"
#include "base/error.h"
#include "base/log.h"
#include "base/meta.h"
#include "xseg/torch.h"

#define DEVICE_TO_DEVICE 3 /* cudaMemcpyDeviceToDevice */

static struct {
    int (*copy_peer)(void *to, int to_device, const void *from, int from_device, size_t bytes,
                     xseg_stream stream);
    int (*copy_within)(void *to, const void *from, size_t bytes, int kind, xseg_stream stream);
    void (*enable_peer_access)(void *self, int8_t device, int8_t owner);
} theirs;

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
        return theirs.copy_within(to, from, bytes, DEVICE_TO_DEVICE, stream);
    return theirs.copy_peer(to, to_device, from, from_device, bytes, stream);
}

/* void enablePeerAccess(DeviceIndex device, DeviceIndex owner): PyTorch's own first, for memory that is not ours and
 * for its errors. */
static void enable_peer_access(void *self, int8_t device, int8_t owner)
{
    theirs.enable_peer_access(self, device, owner);
    if (!xseg_peer_access(owner, device, true))
        return;
    xs_torch_throw(false, xs_error_text());
    xs_log("torch: peer access: %s", xs_error_text());
}

#define STRING     "NSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE"
#define PEERS_NAME "_ZN" XS_TORCH_CLASS "16enablePeerAccessEaa"

static const struct xs_torch_function functions[] = {
    {"_ZN" XS_TORCH_CLASS "9cacheInfoEaPm", (void (*)(void))cache_info},
    {"_ZN" XS_TORCH_CLASS "11memcpyAsyncEPviPKvimP11CUstream_stb", (void (*)(void))copy},
    {PEERS_NAME, (void (*)(void))enable_peer_access},
    {"_ZN" XS_TORCH_CLASS "14shareIpcHandleEPv", (void (*)(void))xs_torch_share},
    {"_ZN" XS_TORCH_CLASS "12getIpcDevPtrE" STRING, (void (*)(void))XS_TORCH_OPEN},
};

static bool find_theirs(void)
{
    *(void **)&theirs.copy_peer = xs_cxx_symbol(XS_TORCH_LIBRARY, "cudaMemcpyPeerAsync");
    *(void **)&theirs.copy_within = xs_cxx_symbol(XS_TORCH_LIBRARY, "cudaMemcpyAsync");
    *(void **)&theirs.enable_peer_access = xs_cxx_symbol(XS_TORCH_LIBRARY, PEERS_NAME);
    return theirs.copy_peer && theirs.copy_within && xs_cxx_is_loaded();
}

static size_t symbol_bytes(const void *address)
{
    Dl_info info;
    const ElfW(Sym) *symbol = NULL;
    if (!dladdr1(address, &info, (void **)&symbol, RTLD_DL_SYMENT) || !symbol)
        return 0;
    return symbol->st_size;
}

_Static_assert(XS_COUNT_OF(functions) + XS_TORCH_MEMORY_FUNCTIONS == XSEG_TORCH_FUNCTIONS,
               "as many as the header says");

size_t xs_torch_slot(void *const *table, size_t entries, const char *name)
{
    const void *named = xs_cxx_symbol(XS_TORCH_LIBRARY, name);
    size_t slot = 0;
    while (slot < entries && (!named || table[slot] != named))
        slot++;
    return slot;
}

/* How many functions of the copy are ours now. */
static int replace(void **table, size_t entries)
{
    int replaced = xs_torch_memory_replace(table, entries);
    for (size_t i = 0; i < XS_COUNT_OF(functions); i++) {
        size_t slot = xs_torch_slot(table, entries, functions[i].name);
        if (slot == entries)
            continue;
        memcpy(&table[slot], &functions[i].function, sizeof(void *));
        replaced++;
    }
    return replaced;
}

/* The table begins with an offset and the type; objects point behind them. */
#define HEADER 2

static int adopt(void **object)
{
    void *table = xs_cxx_symbol(XS_TORCH_LIBRARY, "_ZTVN" XS_TORCH_CLASS "E");
    size_t bytes = table ? symbol_bytes(table) : 0;
    if (!bytes || *object != (void **)table + HEADER)
        return 0;
    void **copied = xs_meta_map(bytes);
    if (!copied)
        return 0;
    memcpy(copied, table, bytes);
    int replaced = replace(copied + HEADER, bytes / sizeof(void *) - HEADER);
    if (replaced)
        *object = copied + HEADER;
    else
        xs_meta_unmap(copied, bytes);
    return replaced;
}

int xseg_torch_adopt(void)
{
    void **current =
        xs_cxx_symbol("libc10_cuda.so", "_ZN3c104cuda20CUDACachingAllocator9allocatorE");
    return current && *current && find_theirs() ? adopt(*current) : 0;
}
