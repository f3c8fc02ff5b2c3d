/*
 * PyTorch's exceptions, thrown from C. Its pluggable allocator does not look at NULL, so a C++ exception is the only
 * way to refuse; and torch.OutOfMemoryError is what c10::OutOfMemoryError turns into. No header of PyTorch is needed:
 * the constructor of c10::Error and the functions that throw are looked up in the libraries that are loaded already.
 */
#ifndef XS_API_TORCH_THROW_H
#define XS_API_TORCH_THROW_H

#include <stdbool.h>

/* 2: both kinds can be thrown, 1: c10::Error alone, which has to do for both, 0: neither. */
int xs_torch_can_throw(void);

/* Throws; returns only where that is not possible. */
void xs_torch_throw(bool out_of_memory, const char *text);

#endif
