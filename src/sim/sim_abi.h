/* What the simulator needs of the CUDA driver's binary interface beyond driver/cuda_abi.h. */
#ifndef XS_SIM_SIM_ABI_H
#define XS_SIM_SIM_ABI_H

#include "driver/cuda_abi.h"

typedef struct CUgraph_st *xs_cu_graph;
typedef struct CUgraphExec_st *xs_cu_graph_exec;
typedef void (*xs_cu_host_fn)(void *data);

struct xs_sim_ipc_handle { /* CUipcMemHandle */
    char bytes[64];
};

enum {
    XS_CUDA_ERROR_ILLEGAL_STATE = 401,
    XS_CUDA_ERROR_CONTEXT_IS_DESTROYED = 709,
    XS_CUDA_ERROR_STREAM_CAPTURE_IMPLICIT = 906,
};

enum { /* CUdevice_attribute */
       XS_CU_ATTR_MAX_THREADS_PER_BLOCK = 1,
       XS_CU_ATTR_WARP_SIZE = 10,
       XS_CU_ATTR_MULTIPROCESSOR_COUNT = 16,
       XS_CU_ATTR_COMPUTE_CAPABILITY_MAJOR = 75,
       XS_CU_ATTR_COMPUTE_CAPABILITY_MINOR = 76,
       XS_CU_ATTR_HOST_REGISTER_SUPPORTED = 99,
       XS_CU_ATTR_LAST = 160,
};

enum { /* CUpointer_attribute and CUmemorytype */
       XS_CU_POINTER_CONTEXT = 1,
       XS_CU_POINTER_MEMORY_TYPE = 2,
       XS_CU_POINTER_DEVICE_POINTER = 3,
       XS_CU_POINTER_HOST_POINTER = 4,
       XS_CU_POINTER_IS_MANAGED = 8,
       XS_CU_POINTER_DEVICE_ORDINAL = 9,
       XS_CU_POINTER_RANGE_START = 11,
       XS_CU_POINTER_RANGE_SIZE = 12,
       XS_CU_POINTER_MAPPED = 13,
       XS_CU_MEMORY_HOST = 1,
       XS_CU_MEMORY_DEVICE = 2,
};

enum { /* cuGetProcAddress */
       XS_CU_PROC_PER_THREAD_STREAM = 2,
       XS_CU_PROC_FOUND = 0,
       XS_CU_PROC_NOT_FOUND = 1,
};

#endif
