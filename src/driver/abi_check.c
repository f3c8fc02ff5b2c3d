/*
 * Our copy of the CUDA driver's ABI against the vendor's cuda.h: every value, every layout, and each
 * prototype of driver_list.h. Compiled by `make check-abi` where cuda.h is found, never linked; it
 * compiles or it fails.
 */
#include <cuda.h>
#include <stddef.h>

#include "driver/cuda_abi.h"
#include "driver/driver_list.h"

/* ---- values --------------------------------------------------------------------------------- */

#define SAME(ours, theirs)                                                                         \
    _Static_assert((long long)(ours) == (long long)(theirs), #ours " is not " #theirs)
#define SAME_CODE(name) SAME(XS_CUDA_##name, CUDA_##name)

SAME_CODE(SUCCESS);
SAME_CODE(ERROR_INVALID_VALUE);
SAME_CODE(ERROR_OUT_OF_MEMORY);
SAME_CODE(ERROR_NOT_INITIALIZED);
SAME_CODE(ERROR_DEINITIALIZED);
SAME_CODE(ERROR_NO_DEVICE);
SAME_CODE(ERROR_INVALID_DEVICE);
SAME_CODE(ERROR_INVALID_CONTEXT);
SAME_CODE(ERROR_MAP_FAILED);
SAME_CODE(ERROR_UNMAP_FAILED);
SAME_CODE(ERROR_ALREADY_MAPPED);
SAME_CODE(ERROR_NOT_MAPPED);
SAME_CODE(ERROR_INVALID_HANDLE);
SAME_CODE(ERROR_NOT_FOUND);
SAME_CODE(ERROR_NOT_READY);
SAME_CODE(ERROR_ILLEGAL_ADDRESS);
SAME_CODE(ERROR_HOST_MEMORY_ALREADY_REGISTERED);
SAME_CODE(ERROR_HOST_MEMORY_NOT_REGISTERED);
SAME_CODE(ERROR_NOT_PERMITTED);
SAME_CODE(ERROR_NOT_SUPPORTED);
SAME_CODE(ERROR_STREAM_CAPTURE_UNSUPPORTED);
SAME_CODE(ERROR_STREAM_CAPTURE_INVALIDATED);
SAME_CODE(ERROR_STREAM_CAPTURE_UNMATCHED);
SAME_CODE(ERROR_STREAM_CAPTURE_ISOLATION);
SAME_CODE(ERROR_CAPTURED_EVENT);
SAME_CODE(ERROR_STREAM_CAPTURE_WRONG_THREAD);
SAME_CODE(ERROR_UNKNOWN);

SAME(XS_CU_ATTR_UNIFIED_ADDRESSING, CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING);
SAME(XS_CU_ATTR_VMM_SUPPORTED, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED);
SAME(XS_CU_ATTR_HANDLE_POSIX_FD_SUPPORTED,
     CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED);
SAME(XS_CU_ATTR_RDMA_WITH_VMM_SUPPORTED,
     CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED);
SAME(XS_CU_ATTR_MEMORY_POOLS_SUPPORTED, CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED);

SAME(XS_CU_ALLOCATION_PINNED, CU_MEM_ALLOCATION_TYPE_PINNED);
SAME(XS_CU_LOCATION_DEVICE, CU_MEM_LOCATION_TYPE_DEVICE);
SAME(XS_CU_ACCESS_NONE, CU_MEM_ACCESS_FLAGS_PROT_NONE);
SAME(XS_CU_ACCESS_READ, CU_MEM_ACCESS_FLAGS_PROT_READ);
SAME(XS_CU_ACCESS_READWRITE, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
SAME(XS_CU_GRANULARITY_MINIMUM, CU_MEM_ALLOC_GRANULARITY_MINIMUM);
SAME(XS_CU_GRANULARITY_RECOMMENDED, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED);

SAME(XS_CU_HANDLE_NONE, CU_MEM_HANDLE_TYPE_NONE);
SAME(XS_CU_HANDLE_POSIX_FD, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
#if CUDA_VERSION >= 12040
SAME(XS_CU_ATTR_HANDLE_FABRIC_SUPPORTED, CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_FABRIC_SUPPORTED);
SAME(XS_CU_HANDLE_FABRIC, CU_MEM_HANDLE_TYPE_FABRIC);
#endif

SAME(XS_CU_STREAM_DEFAULT, CU_STREAM_DEFAULT);
SAME(XS_CU_STREAM_NON_BLOCKING, CU_STREAM_NON_BLOCKING);
SAME(XS_CU_EVENT_DISABLE_TIMING, CU_EVENT_DISABLE_TIMING);
SAME(XS_CU_CAPTURE_STATUS_NONE, CU_STREAM_CAPTURE_STATUS_NONE);
SAME(XS_CU_CAPTURE_STATUS_ACTIVE, CU_STREAM_CAPTURE_STATUS_ACTIVE);
SAME(XS_CU_CAPTURE_STATUS_INVALIDATED, CU_STREAM_CAPTURE_STATUS_INVALIDATED);
SAME(XS_CU_CAPTURE_MODE_GLOBAL, CU_STREAM_CAPTURE_MODE_GLOBAL);
SAME(XS_CU_CAPTURE_MODE_THREAD_LOCAL, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
SAME(XS_CU_CAPTURE_MODE_RELAXED, CU_STREAM_CAPTURE_MODE_RELAXED);
#ifndef __clang__ /* where a pointer's value is no constant */
SAME(XS_CU_STREAM_LEGACY, CU_STREAM_LEGACY);
SAME(XS_CU_STREAM_PER_THREAD, CU_STREAM_PER_THREAD);
#endif

/* ---- layouts -------------------------------------------------------------------------------- */

#define SAME_TYPE(ours, theirs)                                                                    \
    _Static_assert(__builtin_types_compatible_p(ours, theirs), #ours " is not " #theirs)
#define SAME_SIZE(ours, theirs) SAME(sizeof(ours), sizeof(theirs))
#define FIELD(type, field)      (((type *)0)->field)
#define SAME_FIELD(ours, a, theirs, b)                                                             \
    SAME(offsetof(ours, a), offsetof(theirs, b));                                                  \
    SAME_SIZE(FIELD(ours, a), FIELD(theirs, b))

SAME_SIZE(xs_cu_result, CUresult);
SAME_SIZE(xs_cu_attribute, CUdevice_attribute);
SAME_SIZE(xs_cu_granularity, CUmemAllocationGranularity_flags);
SAME_SIZE(xs_cu_handle_type, CUmemAllocationHandleType);
SAME_SIZE(xs_cu_capture_status, CUstreamCaptureStatus);
SAME_SIZE(xs_cu_capture_mode, CUstreamCaptureMode);
SAME_TYPE(xs_cu_device, CUdevice);
SAME_TYPE(xs_cu_ptr, CUdeviceptr);
SAME_TYPE(xs_cu_mem, CUmemGenericAllocationHandle);
SAME_TYPE(xs_cu_context, CUcontext);
SAME_TYPE(xs_cu_stream, CUstream);
SAME_TYPE(xs_cu_event, CUevent);

typedef struct xs_cu_location location;
SAME_SIZE(location, CUmemLocation);
SAME_FIELD(location, type, CUmemLocation, type);
SAME_FIELD(location, id, CUmemLocation, id);

typedef struct xs_cu_access_desc access_desc;
SAME_SIZE(access_desc, CUmemAccessDesc);
SAME_FIELD(access_desc, location, CUmemAccessDesc, location);
SAME_FIELD(access_desc, flags, CUmemAccessDesc, flags);

typedef struct xs_cu_alloc_prop alloc_prop;
SAME_SIZE(alloc_prop, CUmemAllocationProp);
SAME_FIELD(alloc_prop, type, CUmemAllocationProp, type);
SAME_FIELD(alloc_prop, requested_handle_types, CUmemAllocationProp, requestedHandleTypes);
SAME_FIELD(alloc_prop, location, CUmemAllocationProp, location);
SAME_FIELD(alloc_prop, win32_handle_meta, CUmemAllocationProp, win32HandleMetaData);
SAME_FIELD(alloc_prop, alloc_flags, CUmemAllocationProp, allocFlags);
SAME_FIELD(alloc_prop, alloc_flags.compression_type, CUmemAllocationProp,
           allocFlags.compressionType);
SAME_FIELD(alloc_prop, alloc_flags.gpu_direct_rdma_capable, CUmemAllocationProp,
           allocFlags.gpuDirectRDMACapable);
SAME_FIELD(alloc_prop, alloc_flags.usage, CUmemAllocationProp, allocFlags.usage);

/* ---- prototypes ----------------------------------------------------------------------------- */

/* The symbol behind each row of driver_list.h, as a token, so that its declaration can be compared. */
#define SYMBOL_init                  cuInit
#define SYMBOL_driver_version        cuDriverGetVersion
#define SYMBOL_device_count          cuDeviceGetCount
#define SYMBOL_device_get            cuDeviceGet
#define SYMBOL_device_attribute      cuDeviceGetAttribute
#define SYMBOL_device_name           cuDeviceGetName
#define SYMBOL_device_total_mem      cuDeviceTotalMem_v2
#define SYMBOL_primary_ctx_retain    cuDevicePrimaryCtxRetain
#define SYMBOL_primary_ctx_release   cuDevicePrimaryCtxRelease_v2
#define SYMBOL_ctx_get_current       cuCtxGetCurrent
#define SYMBOL_ctx_push              cuCtxPushCurrent_v2
#define SYMBOL_ctx_pop               cuCtxPopCurrent_v2
#define SYMBOL_ctx_get_device        cuCtxGetDevice
#define SYMBOL_ctx_synchronize       cuCtxSynchronize
#define SYMBOL_mem_get_info          cuMemGetInfo_v2
#define SYMBOL_mem_alloc             cuMemAlloc_v2
#define SYMBOL_mem_free              cuMemFree_v2
#define SYMBOL_event_create          cuEventCreate
#define SYMBOL_event_destroy         cuEventDestroy_v2
#define SYMBOL_event_record          cuEventRecord
#define SYMBOL_event_query           cuEventQuery
#define SYMBOL_event_synchronize     cuEventSynchronize
#define SYMBOL_stream_wait_event     cuStreamWaitEvent
#define SYMBOL_stream_is_capturing   cuStreamIsCapturing
#define SYMBOL_can_access_peer       cuDeviceCanAccessPeer
#define SYMBOL_stream_get_id         cuStreamGetId
#define SYMBOL_stream_synchronize    cuStreamSynchronize
#define SYMBOL_mem_export            cuMemExportToShareableHandle
#define SYMBOL_mem_import            cuMemImportFromShareableHandle
#define SYMBOL_ctx_record_event      cuCtxRecordEvent
#define SYMBOL_exchange_capture_mode cuThreadExchangeStreamCaptureMode
#define SYMBOL_memset_d8_async       cuMemsetD8Async
#define SYMBOL_mem_granularity       cuMemGetAllocationGranularity
#define SYMBOL_mem_reserve           cuMemAddressReserve
#define SYMBOL_mem_unreserve         cuMemAddressFree
#define SYMBOL_mem_create            cuMemCreate
#define SYMBOL_mem_release           cuMemRelease
#define SYMBOL_mem_map               cuMemMap
#define SYMBOL_mem_unmap             cuMemUnmap
#define SYMBOL_mem_set_access        cuMemSetAccess

#define TEXT(x)         #x
#define TEXT_OF(symbol) TEXT(symbol)
#define SAME_SYMBOL(need, name, symbol, ...)                                                       \
    _Static_assert(__builtin_strcmp(symbol, TEXT_OF(SYMBOL_##name)) == 0,                          \
                   "SYMBOL_" #name " is not " symbol);
XS_DRIVER_LIST(SAME_SYMBOL)

/* From here on our names mean cuda.h's types, and each row declares the vendor's function once more:
 * a declaration that differs does not compile. */
#define xs_cu_result         CUresult
#define xs_cu_attribute      CUdevice_attribute
#define xs_cu_granularity    CUmemAllocationGranularity_flags
#define xs_cu_handle_type    CUmemAllocationHandleType
#define xs_cu_capture_status CUstreamCaptureStatus
#define xs_cu_capture_mode   CUstreamCaptureMode
#define xs_cu_alloc_prop     CUmemAllocationProp_st
#define xs_cu_access_desc    CUmemAccessDesc_st

#define DECLARE(need, name, symbol, params, ...) xs_cu_result CUDAAPI SYMBOL_##name params;
XS_DRIVER_LIST(DECLARE)
