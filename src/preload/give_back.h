/*
 * What the cache holds, given back to the driver, where a request of somebody else has failed for want of
 * memory: a library's, an array's, a kernel's that is loaded at its first launch.
 */
#ifndef XS_PRELOAD_GIVE_BACK_H
#define XS_PRELOAD_GIVE_BACK_H

#include "base/base.h"
#include "driver/cuda_abi.h"

/* Waits for the GPU if need be, as the native frees would have done, but not while a capture is open. Returns
 * whether the driver has got anything back. */
bool xs_give_back(void);

/* Whether a call that returned `code` is to be made once more. */
static inline bool xs_give_back_for(xs_cu_result code)
{
    return xs_unlikely(code == XS_CUDA_ERROR_OUT_OF_MEMORY) && xs_give_back();
}

#endif
