/*
 * Tensors' memory without PyTorch's own record of each pointer. Its pluggable allocator keeps size and stream of every
 * allocation in a map under a lock, to tell them to whoever frees it, who is xseg and knows: three look-ups and a piece
 * of host memory for each tensor. These are the virtual functions that end up there.
 */
#ifndef XS_API_TORCH_MEMORY_H
#define XS_API_TORCH_MEMORY_H

#include <stddef.h>

/* How many functions of a table of virtual functions, a copy of PyTorch's, are ours now: all or none. */
int xs_torch_memory_replace(void **table, size_t entries);

/* How many there are. */
#define XS_TORCH_MEMORY_FUNCTIONS 5

/* Frees what the hooks have allocated; NULL is nothing. What fails is told to the log. */
void xs_torch_delete(void *ptr);

#endif
