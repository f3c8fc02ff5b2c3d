/* A library that links the runtime library, and is loaded for itself alone. */
#include "fake_cudart.h"

int plugin_malloc(void **ptr, size_t bytes);
int plugin_free(void *ptr);

int plugin_malloc(void **ptr, size_t bytes)
{
    return cudaMalloc(ptr, bytes);
}

int plugin_free(void *ptr)
{
    return cudaFree(ptr);
}
