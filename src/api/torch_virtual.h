/* The virtual functions of PyTorch's pluggable allocator, by the names that its library exports. */
#ifndef XS_API_TORCH_VIRTUAL_H
#define XS_API_TORCH_VIRTUAL_H

#include <stddef.h>

#define XS_TORCH_LIBRARY "libtorch_cuda.so"
#define XS_TORCH_CLASS   "5torch4cuda22CUDAPluggableAllocator22CUDAPluggableAllocator"

/* One of ours for one of theirs. */
struct xs_torch_function {
    const char *name;
    void (*function)(void);
};

/* The place of a function in the table; `entries`: it has none of that name. */
size_t xs_torch_slot(void *const *table, size_t entries, const char *name);

#endif
