/*
 * The part of the CUDA driver's binary interface that xseg uses, in our own names, so that no CUDA
 * header is needed to build. abi_check.c compares every value and layout here with cuda.h where
 * that header is installed (`make check-abi`).
 */
#ifndef XS_DRIVER_CUDA_ABI_H
#define XS_DRIVER_CUDA_ABI_H

#include <stddef.h>
#include <stdint.h>

typedef int xs_cu_result;
typedef int xs_cu_device;
typedef int xs_cu_attribute;      /* CUdevice_attribute */
typedef int xs_cu_granularity;    /* CUmemAllocationGranularity_flags */
typedef int xs_cu_handle_type;    /* CUmemAllocationHandleType */
typedef int xs_cu_capture_status; /* CUstreamCaptureStatus */
typedef int xs_cu_capture_mode;   /* CUstreamCaptureMode */
typedef unsigned long long xs_cu_ptr;
typedef unsigned long long xs_cu_mem; /* CUmemGenericAllocationHandle */
typedef struct CUctx_st *xs_cu_context;
typedef struct CUstream_st *xs_cu_stream;
typedef struct CUevent_st *xs_cu_event;

enum {
    XS_CUDA_SUCCESS = 0,
    XS_CUDA_ERROR_INVALID_VALUE = 1,
    XS_CUDA_ERROR_OUT_OF_MEMORY = 2,
    XS_CUDA_ERROR_NOT_INITIALIZED = 3,
    XS_CUDA_ERROR_DEINITIALIZED = 4,
    XS_CUDA_ERROR_NO_DEVICE = 100,
    XS_CUDA_ERROR_INVALID_DEVICE = 101,
    XS_CUDA_ERROR_INVALID_CONTEXT = 201,
    XS_CUDA_ERROR_MAP_FAILED = 205,
    XS_CUDA_ERROR_UNMAP_FAILED = 206,
    XS_CUDA_ERROR_ALREADY_MAPPED = 208,
    XS_CUDA_ERROR_NOT_MAPPED = 211,
    XS_CUDA_ERROR_INVALID_HANDLE = 400,
    XS_CUDA_ERROR_NOT_FOUND = 500,
    XS_CUDA_ERROR_NOT_READY = 600,
    XS_CUDA_ERROR_ILLEGAL_ADDRESS = 700,
    XS_CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED = 712,
    XS_CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED = 713,
    XS_CUDA_ERROR_NOT_PERMITTED = 800,
    XS_CUDA_ERROR_NOT_SUPPORTED = 801,
    XS_CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED = 900,
    XS_CUDA_ERROR_STREAM_CAPTURE_INVALIDATED = 901,
    XS_CUDA_ERROR_STREAM_CAPTURE_UNMATCHED = 903,
    XS_CUDA_ERROR_STREAM_CAPTURE_ISOLATION = 905,
    XS_CUDA_ERROR_CAPTURED_EVENT = 907,
    XS_CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD = 908,
    XS_CUDA_ERROR_UNKNOWN = 999,
};

/* CUdevice_attribute */
enum {
    XS_CU_ATTR_UNIFIED_ADDRESSING = 41,
    XS_CU_ATTR_VMM_SUPPORTED = 102,
    XS_CU_ATTR_HANDLE_POSIX_FD_SUPPORTED = 103,
    XS_CU_ATTR_RDMA_WITH_VMM_SUPPORTED = 110,
    XS_CU_ATTR_MEMORY_POOLS_SUPPORTED = 115,
    XS_CU_ATTR_HANDLE_FABRIC_SUPPORTED = 128,
};

/* CUmemAllocationType, CUmemLocationType, CUmemAccess_flags, granularity */
enum {
    XS_CU_ALLOCATION_PINNED = 1,
    XS_CU_LOCATION_DEVICE = 1,
    XS_CU_ACCESS_NONE = 0,
    XS_CU_ACCESS_READ = 1,
    XS_CU_ACCESS_READWRITE = 3,
    XS_CU_GRANULARITY_MINIMUM = 0,
    XS_CU_GRANULARITY_RECOMMENDED = 1,
};

/* CUmemAllocationHandleType, a set of bits */
enum {
    XS_CU_HANDLE_NONE = 0,
    XS_CU_HANDLE_POSIX_FD = 1,
    XS_CU_HANDLE_FABRIC = 8,
};

/* streams and events */
enum {
    XS_CU_STREAM_DEFAULT = 0,
    XS_CU_STREAM_NON_BLOCKING = 1,
    XS_CU_EVENT_DISABLE_TIMING = 2,
    XS_CU_CAPTURE_STATUS_NONE = 0,
    XS_CU_CAPTURE_STATUS_ACTIVE = 1,
    XS_CU_CAPTURE_STATUS_INVALIDATED = 2,
    XS_CU_CAPTURE_MODE_GLOBAL = 0,
    XS_CU_CAPTURE_MODE_THREAD_LOCAL = 1,
    XS_CU_CAPTURE_MODE_RELAXED = 2,
};

/* Handle values with a meaning of their own. NULL is the legacy stream too. */
#define XS_CU_STREAM_LEGACY     ((xs_cu_stream)0x1)
#define XS_CU_STREAM_PER_THREAD ((xs_cu_stream)0x2)

struct xs_cu_location {
    int type;
    int id;
};

struct xs_cu_alloc_prop { /* CUmemAllocationProp */
    int type;
    int requested_handle_types;
    struct xs_cu_location location;
    void *win32_handle_meta;
    struct {
        unsigned char compression_type;
        unsigned char gpu_direct_rdma_capable;
        unsigned short usage;
        unsigned char reserved[4];
    } alloc_flags;
};

struct xs_cu_access_desc { /* CUmemAccessDesc */
    struct xs_cu_location location;
    int flags;
};

#endif
