/*
 * Memory of CUDA tensors that other processes open: what PyTorch's allocator has for it, as its virtual functions
 * are called by C++ (torch_virtual.c). A handle is one of ipc/; PyTorch itself keeps a tensor alive until every
 * receiver has let go of it.
 */
#ifndef XS_API_TORCH_SHARE_H
#define XS_API_TORCH_SHARE_H

#include <stddef.h>

#include "api/torch_cxx.h"

/* c10::cuda::CUDACachingAllocator::ShareableHandle */
struct xs_torch_shareable {
    ptrdiff_t offset;
    struct xs_cxx_string handle;
};

/* ShareableHandle shareIpcHandle(void *ptr), whose result is in memory in C as in C++. Throws c10::Error. */
struct xs_torch_shareable xs_torch_share(void *self, void *ptr);

/* std::shared_ptr<void> getIpcDevPtr(std::string handle): a class is returned and taken by its address. Where it is to be
 * returned comes before all arguments, but in x8 on aarch64, so that XS_TORCH_OPEN is what C++ may call. Throws
 * c10::Error. */
struct xs_cxx_shared *xs_torch_open(struct xs_cxx_shared *out, void *self,
                                    const struct xs_cxx_string *handle);
#if defined(__aarch64__)
void xs_torch_open_by_x8(void);
#define XS_TORCH_OPEN xs_torch_open_by_x8
#else
#define XS_TORCH_OPEN xs_torch_open
#endif

#endif
