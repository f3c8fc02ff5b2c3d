/*
 * The few entries of the CUDA runtime library that are stood before: only where a program links that library
 * dynamically, and only for speed. They answer what the calling thread's cache holds, and hand everything else
 * to the runtime library, whose own call comes down to cuMemAlloc and cuMemFree; so errors, the last-error slot
 * and initialisation are its own, and nothing is counted twice.
 *
 *   X(symbol, "text")
 */
#ifndef XS_PRELOAD_RUNTIME_ENTRY_H
#define XS_PRELOAD_RUNTIME_ENTRY_H

#include "base/base.h"

#define XS_RUNTIME_ENTRY_LIST(X)                                                                   \
    X(cudaMalloc, "From the cache of the thread, else the runtime library's, by cuMemAlloc.")      \
    X(cudaFree, "Into the cache of the thread, else the runtime library's, by cuMemFree.")         \
    X(cudaSetDevice, "The runtime library's; the next cudaMalloc is, too.")

bool xs_runtime_entry_is(const char *symbol);

#endif
