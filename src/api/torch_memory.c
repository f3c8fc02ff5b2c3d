#include "api/torch_memory.h"

#include <stdint.h>
#include <string.h>

#include "api/torch_cxx.h"
#include "api/torch_virtual.h"
#include "xseg/torch.h"

#define C10_LIBRARY      "libc10.so"
#define C10_CUDA_LIBRARY "libc10_cuda.so"
#define CUDA             1 /* c10::DeviceType */

/* c10::DataPtr: the memory, a std::unique_ptr to it with its deleter, which GNU's C++ library puts first, and a
 * c10::Device. C++ returns a class with a destructor, and C a struct of this size, in the caller's memory. */
struct data {
    void *memory;
    void (*deleter)(void *memory);
    void *owned;
    int8_t device_type;
    int8_t device;
};

/* c10::cuda::CUDAStream. Both return a class as small and plain as this in registers. */
struct stream {
    int8_t device_type;
    int8_t device;
    int64_t id;
};

static struct {
    struct data (*allocate)(void *self, size_t bytes);
    void *(*raw_alloc_with_stream)(void *self, size_t bytes, xseg_stream stream);
    int (*get_device)(int8_t *device);
    struct stream (*get_stream)(int8_t device);
    xseg_stream (*stream_handle)(const struct stream *stream);
} theirs;

/* ---- the virtual functions -------------------------------------------------------------------- */

static xseg_stream current_stream(int8_t device)
{
    struct stream stream = theirs.get_stream(device);
    return theirs.stream_handle(&stream);
}

/* DataPtr allocate(size_t). No device can be current only if the runtime fails, and then theirs throws its error. */
static struct data allocate(void *self, size_t bytes)
{
    struct data data = {.deleter = xs_torch_delete, .device_type = CUDA};
    if (xs_unlikely(theirs.get_device(&data.device)))
        return theirs.allocate(self, bytes);
    data.memory = data.owned =
        xseg_torch_malloc_or_throw(bytes, data.device, current_stream(data.device));
    return data;
}

/* DeleterFnPtr raw_deleter() const */
static void (*raw_deleter(const void *self))(void *)
{
    (void)self;
    return xs_torch_delete;
}

/* void *raw_alloc_with_stream(size_t, cudaStream_t), and without */
static void *raw_alloc_with_stream(void *self, size_t bytes, xseg_stream stream)
{
    int8_t device;
    if (!bytes)
        return NULL;
    if (xs_unlikely(theirs.get_device(&device)))
        return theirs.raw_alloc_with_stream(self, bytes, stream);
    return xseg_torch_malloc_or_throw(bytes, device, stream);
}

static void *raw_alloc(void *self, size_t bytes)
{
    struct data data = allocate(self, bytes);
    return data.memory;
}

/* void raw_delete(void *) */
static void raw_delete(void *self, void *ptr)
{
    (void)self;
    xs_torch_delete(ptr);
}

/* ---- whether they fit --------------------------------------------------------------------------- */

#if defined(__x86_64__)

/* More than a DataPtr has had, so that one that has grown is noticed. */
struct probe {
    struct data data;
    unsigned char more[256];
};

#define UNTOUCHED 0xA5

static bool is_as_expected(const struct probe *probe, void (*deleter)(void *))
{
    for (size_t i = 0; i < sizeof(probe->more); i++)
        if (probe->more[i] != UNTOUCHED)
            return false;
    const struct data *data = &probe->data;
    return data->memory && data->owned == data->memory && data->deleter == deleter &&
           data->device_type == 0 && data->device == -1;
}

/* The allocator of host memory has the same base class, and needs no GPU to show how it returns what. */
static bool layout_fits(size_t allocate_slot, size_t deleter_slot)
{
    void **(*host_allocator)(void);
    *(void **)&host_allocator = xs_cxx_symbol(C10_LIBRARY, "_ZN3c1022GetDefaultCPUAllocatorEv");
    void **object = host_allocator ? host_allocator() : NULL;
    if (!object)
        return false;
    struct probe *(*make)(struct probe * out, void *self, size_t bytes);
    void (*(*get_deleter)(const void *self))(void *);
    void **table = *object;
    *(void **)&make = table[allocate_slot];
    *(void **)&get_deleter = table[deleter_slot];
    struct probe probe;
    memset(&probe, UNTOUCHED, sizeof(probe));
    make(&probe, object, 64);
    void (*deleter)(void *) = get_deleter(object);
    if (!is_as_expected(&probe, deleter))
        return false;
    deleter(probe.data.owned);
    return true;
}

#else

/* Where the result is to be written comes in another register here, which C does not let one set: not tried. */
static bool layout_fits(size_t allocate_slot, size_t deleter_slot)
{
    (void)allocate_slot, (void)deleter_slot;
    return false;
}

#endif

#define FUNCTION(name) "_ZN" XS_TORCH_CLASS name

static const struct xs_torch_function functions[XS_TORCH_MEMORY_FUNCTIONS] = {
    {FUNCTION("8allocateEm"), (void (*)(void))allocate},
    {"_ZNK" XS_TORCH_CLASS "11raw_deleterEv", (void (*)(void))raw_deleter},
    {FUNCTION("9raw_allocEm"), (void (*)(void))raw_alloc},
    {FUNCTION("21raw_alloc_with_streamEmP11CUstream_st"), (void (*)(void))raw_alloc_with_stream},
    {FUNCTION("10raw_deleteEPv"), (void (*)(void))raw_delete},
};
enum { ALLOCATE, RAW_DELETER, RAW_ALLOC, RAW_ALLOC_WITH_STREAM };

static bool find_theirs(void *const *table, const size_t *slot)
{
    *(void **)&theirs.get_device = xs_cxx_symbol(C10_CUDA_LIBRARY, "_ZN3c104cuda9GetDeviceEPa");
    *(void **)&theirs.get_stream =
        xs_cxx_symbol(C10_CUDA_LIBRARY, "_ZN3c104cuda20getCurrentCUDAStreamEa");
    *(void **)&theirs.stream_handle =
        xs_cxx_symbol(C10_CUDA_LIBRARY, "_ZNK3c104cuda10CUDAStream6streamEv");
    *(void **)&theirs.allocate = table[slot[ALLOCATE]];
    *(void **)&theirs.raw_alloc_with_stream = table[slot[RAW_ALLOC_WITH_STREAM]];
    return theirs.get_device && theirs.get_stream && theirs.stream_handle;
}

int xs_torch_memory_replace(void **table, size_t entries)
{
    size_t slot[XS_TORCH_MEMORY_FUNCTIONS];
    for (size_t i = 0; i < XS_TORCH_MEMORY_FUNCTIONS; i++)
        if ((slot[i] = xs_torch_slot(table, entries, functions[i].name)) == entries)
            return 0;
    if (!find_theirs(table, slot) || !layout_fits(slot[ALLOCATE], slot[RAW_DELETER]))
        return 0;
    for (size_t i = 0; i < XS_TORCH_MEMORY_FUNCTIONS; i++)
        memcpy(&table[slot[i]], &functions[i].function, sizeof(void *));
    return XS_TORCH_MEMORY_FUNCTIONS;
}
