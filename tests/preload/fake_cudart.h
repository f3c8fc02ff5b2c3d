/* As much of the CUDA runtime library as the programs here call. */
#ifndef XS_TEST_FAKE_CUDART_H
#define XS_TEST_FAKE_CUDART_H

#include <stddef.h>

int cudaMalloc(void **ptr, size_t bytes);
int cudaFree(void *ptr);
int cudaMallocAsync(void **ptr, size_t bytes, void *stream);
int cudaFreeAsync(void *ptr, void *stream);
int cudaMallocPitch(void **ptr, size_t *pitch, size_t width, size_t height);
int cudaMemGetInfo(size_t *free_bytes, size_t *total_bytes);
int cudaSetDevice(int device);
int cudaDeviceReset(void);
int cudaGetLastError(void);
int cudaPeekAtLastError(void);
int cudaGetDriverEntryPoint(const char *symbol, void **fn, unsigned long long flags, int *status);
int cudaGetDriverEntryPointByVersion(const char *symbol, void **fn, unsigned version,
                                     unsigned long long flags, int *status);

#endif
